"""A short-lived process that sends: fed once, bounded in time and output, ended with its group."""

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
_PART = 65_536
_LAST_WORDS = 2.0  # seconds in which the pipe must close when the program has ended
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR")


class Ended(NamedTuple):
    """How a process ended: its exit code (None: it was ended at the deadline), and the end of its output."""

    code: int | None
    output: str


def plain_environment() -> dict[str, str]:
    """What a child may know of this process's environment: no token, and no store's URL."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


async def run_process(
    command: Sequence[str],
    feed: bytes,
    deadline: timedelta,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Ended:
    """Run a program, with its own session and `feed` as its input. OSError if it cannot be started."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**plain_environment(), **(environment or {})},
        cwd=folder,
        start_new_session=True,
    )
    kept = bytearray()
    pipes = asyncio.gather(_feed(process, feed), _drain(process, kept))
    try:
        async with asyncio.timeout(deadline.total_seconds()):
            await process.wait()
        async with asyncio.timeout(_LAST_WORDS):
            await pipes
    except TimeoutError:
        pass
    finally:
        is_over = process.returncode is not None and pipes.done() and not pipes.cancelled()
        if not is_over:  # it runs on, or has left processes behind that hold the pipe
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        code = process.returncode
        pipes.cancel()
        await process.wait()
    return Ended(code, kept.decode(errors="replace"))


async def _feed(process: asyncio.subprocess.Process, feed: bytes) -> None:
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    with suppress(BrokenPipeError, ConnectionResetError):  # the program need not read all
        process.stdin.write(feed)
        await process.stdin.drain()
    process.stdin.close()


async def _drain(process: asyncio.subprocess.Process, kept: bytearray) -> None:
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    while part := await process.stdout.read(_PART):
        kept += part
        del kept[:-_KEPT]
