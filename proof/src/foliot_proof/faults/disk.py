"""A disk that fails for a while under a node that runs: strace has the kernel answer with errors.

Only calls about the store's own files fail, and only those of one process: the witness log is still written.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_WRITES = "write,pwrite64,ftruncate"
_FILES = ("", "-wal", "-shm")
_PATIENCE = 10.0
_INJECTED = "(INJECTED)"


class Failure(NamedTuple):
    """What the kernel says, and to which calls."""

    words: str
    error: str
    calls: str


FAILURES = (
    Failure("nothing reaches the disk", "EIO", "fsync,fdatasync"),
    Failure("the disk is read-only", "EROFS", _WRITES),
    Failure("the disk is full", "ENOSPC", _WRITES),
)


class Bites:
    """How many calls have failed; known when it is over."""

    def __init__(self) -> None:
        self.count = 0

    def take(self, log: Path) -> None:
        """Count them."""
        self.count = log.read_text(errors="replace").count(_INJECTED) if log.exists() else 0


class NoTraceError(Exception):
    """The node cannot be traced here; the message says why."""


def why_not() -> str:
    """Why disks cannot fail here; empty: they can."""
    return "" if shutil.which("strace") else "there is no strace here"


@asynccontextmanager
async def failing_disk(pid: int, store: Path, failure: Failure) -> AsyncIterator[Bites]:
    """As long as this lasts, calls of that process about the store's files fail."""
    bites = Bites()
    with TemporaryDirectory(prefix="foliot-strace-") as folder:
        log = Path(folder, "log")
        files = [word for suffix in _FILES for word in ("-P", f"{store}{suffix}")]
        what = ("-e", f"trace={failure.calls}", "-e", f"inject={failure.calls}:error={failure.error}")
        strace = await asyncio.create_subprocess_exec(
            shutil.which("strace") or "strace", "-f", "-p", str(pid), *files, *what, "-o", str(log),
            stderr=subprocess.PIPE,
        )  # fmt: skip
        assert strace.stderr is not None  # noqa: S101 - a pipe was asked for
        try:
            said = (await strace.stderr.readline()).decode()
            if "attached" not in said:
                raise NoTraceError(f"strace says: {said.strip()}")
            yield bites
        finally:
            with suppress(ProcessLookupError):
                strace.send_signal(signal.SIGINT)
            await asyncio.wait_for(strace.communicate(), _PATIENCE)
            bites.take(log)
