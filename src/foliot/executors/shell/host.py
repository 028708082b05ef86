"""Checks what a host needs for shell jobs. Without it a process might outlive its run unnoticed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from foliot.errors import FoliotError
from foliot.executors.shell.warden.spawn import SHELL

_PROC = Path("/proc/self/stat")


def check_host() -> None:
    """Refuse a host on which trees of processes cannot be followed and ended."""
    if sys.platform != "linux":
        raise FoliotError(f"shell jobs need Linux, not {sys.platform}", hint="Python jobs run everywhere")
    if not os.access(SHELL, os.X_OK):
        raise FoliotError(f"there is no {SHELL} that could run commands", hint="install a shell")
    if not _PROC.exists():
        raise FoliotError("shell jobs need /proc", hint="mount it: mount -t proc proc /proc")
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        raise FoliotError(
            f"shell jobs need pidfd_open: {error}", hint="it takes Linux 5.3, and a container that allows it"
        ) from error
