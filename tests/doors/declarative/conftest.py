"""A stage on each of the embedded stores, in a zone that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from doors.declarative.scene import Stage


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture(params=["memory", "sqlite"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return Stage(None if request.param == "memory" else tmp_path / "tasks.db")
