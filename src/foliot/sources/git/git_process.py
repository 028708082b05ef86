"""Runs a short-lived process for git work, from the daemon's side; `worker` is the other side."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from foliot.errors import shorten
from foliot.sources.git.address import Address
from foliot.sources.git.errors import GitError, RemoteUnavailableError, SnapshotError, read_error
from foliot.sources.git.tree import Limits

_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from foliot.sources.git.worker import main; main()"
_HOME = Path(__file__).parents[3]  # where the package is, however this process has found it
_LONGEST_LINE = 16 << 20
_GIVEN_UP: dict[str, type[GitError]] = {"pull": RemoteUnavailableError}
_MORE_PATIENCE = 6  # with disks than with networks: hundreds of jobs may each need thousands of files
_LEAVE = 5.0  # seconds in which a process that has answered ends


@dataclass(frozen=True, slots=True)
class GitProcesses:
    """Starts processes for one repository; each does one task: pull, recall, build or tidy."""

    address: Address
    root: Path
    timeout: timedelta
    limits: Limits
    store_file: str | None = None
    trusted: tuple[str, ...] = ()

    async def do(self, task: str, **facts: object) -> dict[str, Any]:
        """Let a process do a task, and return its answer. Its error is raised here."""
        async with self.held(task, **facts) as answer:
            return answer

    @asynccontextmanager
    async def held(self, task: str, **facts: object) -> AsyncIterator[dict[str, Any]]:
        """The answer of a task, while its process still holds its locks."""
        process = await self._started()
        try:
            answer = await self._answer(process, task, facts)
            yield answer
            await _part(process)
        finally:
            await _end(process)

    async def _started(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-X", "utf8", "-c", _CODE, str(_HOME)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=_LONGEST_LINE,
            )
        except OSError as error:
            raise GitError(self.address.shown, f"no process could be started ({error.strerror})") from error

    async def _answer(
        self, process: asyncio.subprocess.Process, task: str, facts: Mapping[str, object]
    ) -> dict[str, Any]:
        request = {
            "task": task,
            "address": asdict(self.address),
            "root": str(self.root),
            "limits": list(self.limits),
            "store_file": self.store_file,
            "trusted": self.trusted,
            "facts": facts,
        }
        stage = "starting"
        patience = self.timeout.total_seconds() * (1 if task == "pull" else _MORE_PATIENCE)
        try:
            async with asyncio.timeout(patience):
                _write(process, request)
                async for line in _lines(process):
                    stage = line.get("stage", stage)
                    if "done" in line:
                        return dict(line["done"])
                    if "error" in line:
                        raise read_error(line["error"], self.address.shown)
                said = await _complaint(process)
        except TimeoutError:
            reason = f"given up after {patience:g} s, while {stage}"
            raise _GIVEN_UP.get(task, SnapshotError)(self.address.shown, reason) from None
        raise GitError(self.address.shown, f"the process ended while {stage}{said}")


def _write(process: asyncio.subprocess.Process, request: Mapping[str, object]) -> None:
    if process.stdin is not None:
        process.stdin.write(json.dumps(request).encode() + b"\n")


async def _lines(process: asyncio.subprocess.Process) -> AsyncIterator[dict[str, Any]]:
    if process.stdout is not None:
        while line := await process.stdout.readline():
            yield json.loads(line)


async def _complaint(process: asyncio.subprocess.Process) -> str:
    said = await process.stderr.read(1 << 16) if process.stderr is not None else b""
    lines = said.decode(errors="replace").strip().splitlines()
    return f": {shorten(lines[-1])}" if lines else ""


async def _part(process: asyncio.subprocess.Process) -> None:
    """Let a process go that has answered."""
    if process.stdin is not None:
        process.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(_LEAVE):
            await process.wait()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Whatever is left of the session ends; a process that went in peace has left nothing."""
    if process.returncode == 0:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
