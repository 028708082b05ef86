"""The servers that all tests share wait for no disk, and are found again by all processes of a session."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from foliot.testing.servers import shared, shared_redis


def test_files_are_in_memory_where_there_is_room(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert redis_url
    server = shared_redis("redis")
    assert server.folder == shared.in_memory(server.folder.name), "whoever asks comes to the same place"
    monkeypatch.setattr(shared, "MEMORY", tmp_path)
    monkeypatch.setattr(shared, "ROOM", 1)
    assert shared.in_memory("new") == tmp_path / "new"


def test_files_are_on_the_disk_where_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "MEMORY", tmp_path)
    monkeypatch.setattr(shared, "ROOM", 2**80)
    assert shared.in_memory("new") == Path(tempfile.gettempdir(), "new")
    (tmp_path / "there").mkdir()
    assert shared.in_memory("there") == tmp_path / "there", "another process found room"
    monkeypatch.setattr(shared, "MEMORY", tmp_path / "none")
    assert shared.in_memory("new") == Path(tempfile.gettempdir(), "new"), "a system without such a folder"
