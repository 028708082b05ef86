"""Hosts on which a tree could get lost are refused, in words that help."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from executors.shell.stage import Folder
from foliot.errors import FoliotError
from foliot.executors.shell.executor import ShellExecutor


def _refuse(_: int) -> int:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("sys.platform", "darwin", "shell jobs need Linux, not darwin"),
        ("foliot.executors.shell.host._PROC", Path("/nowhere"), "shell jobs need /proc"),
        ("os.pidfd_open", _refuse, "shell jobs need pidfd_open: .* not implemented"),
    ],
)
def test_a_host_that_cannot_keep_the_promise_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, value: object, message: str
) -> None:
    monkeypatch.setattr(place, value)
    with pytest.raises(FoliotError, match=message) as raised:
        ShellExecutor(Folder(tmp_path))
    assert raised.value.hint
