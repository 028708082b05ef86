"""The program that ends a server when nobody uses it any more: `python guardian.py FOLDER`.

Whoever uses a server holds a shared lock on a file in its folder; the operating system lets go of it when
the process ends, however it ends. The guardian waits for that file alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

USERS = "users"
PID_FILE = Path("data", "postmaster.pid")


def main() -> None:
    """Wait until nobody is left, end the server, and leave nothing behind."""
    folder = Path(sys.argv[1])
    with suppress(OSError), (folder / USERS).open("rb") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
    end_server(folder)
    shutil.rmtree(folder, ignore_errors=True)
    Path(f"{folder}.lock").unlink(missing_ok=True)


def end_server(folder: Path) -> None:
    """End a server at once, whether it runs, hangs or is gone already."""
    number = server_number(folder)
    if number is None:
        return
    for child in (number, *children_of(number)):
        with suppress(OSError):
            os.kill(child, signal.SIGKILL)


def server_number(folder: Path) -> int | None:
    """The process that a server says it is, if it still runs in that folder."""
    try:
        number = int((folder / PID_FILE).read_text(encoding="ascii").split("\n", 1)[0])
        command = Path("/proc", str(number), "cmdline")
        is_ours = not command.parent.parent.is_dir() or str(folder).encode() in command.read_bytes()
    except (OSError, ValueError):
        return None
    return number if is_ours else None


def children_of(number: int) -> list[int]:
    """The processes that a process has started, where the system tells."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            parent = int((folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            if parent == number:
                found.append(int(folder.name))
    return found


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)  # those who are told to end still need their server
    main()
