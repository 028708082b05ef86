"""A short-lived process that sends a message, with limits of time and output. Its group ends with it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

_KEPT = 2_000  # bytes of the output
_LAST_WORDS = 2.0  # seconds for the pipe to close after the program has ended
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR")


class Ended(NamedTuple):
    """How a process ended: its exit code (None: killed at the deadline), and the end of its output."""

    code: int | None
    output: str


def plain_environment() -> dict[str, str]:
    """The part of the environment that a child gets: no token, and no store's URL."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


async def run_process(
    command: Sequence[str],
    feed: bytes,
    deadline: timedelta,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Ended:
    """Run a program, with its own session and `feed` as its input. OSError if it cannot be started."""
    transport, child = await asyncio.get_running_loop().subprocess_exec(
        _Child,
        *command,
        stderr=asyncio.subprocess.STDOUT,
        env={**plain_environment(), **(environment or {})},
        cwd=folder,
        start_new_session=True,
    )
    try:
        _feed(transport, feed)
        async with asyncio.timeout(deadline.total_seconds()):
            await child.ended.wait()
        async with asyncio.timeout(_LAST_WORDS):
            await child.closed.wait()
    except TimeoutError:
        pass
    finally:
        code = transport.get_returncode()
        if not child.closed.is_set():  # it still runs, or its children hold the pipe
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
        transport.close()
        with suppress(TimeoutError):  # a program with other rights than ours cannot be killed
            async with asyncio.timeout(_LAST_WORDS):
                await child.ended.wait()
    return Ended(code, child.kept.decode(errors="replace"))


def _feed(transport: asyncio.SubprocessTransport, feed: bytes) -> None:
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
        pipe.write(feed)
        pipe.write_eof()


class _Child(asyncio.SubprocessProtocol):
    """Keeps the end of a process's output."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.ended = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        del fd
        self.kept += data
        del self.kept[:-_KEPT]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc
        if fd == 1:
            self.closed.set()

    def process_exited(self) -> None:
        self.ended.set()
