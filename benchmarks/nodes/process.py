"""A node as a process: started, listened to, and stopped."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.fire.child import REPOSITORY, ChildError

_PATIENCE = 60.0  # seconds for a node to join, or to leave
_REMEMBERED = 15  # lines of what it said last


class NodeProcess:
    """`ended`: how many of its runs have ended, as it said last."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._said: list[str] = []
        self.ended = 0
        self.number = process.pid

    async def until_ready(self) -> None:
        """Wait until it has joined."""
        async with asyncio.timeout(_PATIENCE):
            if await self._line() != "ready":
                raise ChildError("".join(self._said))

    async def listen(self) -> None:
        """Hear what it says, for as long as it says anything."""
        assert self._process.stderr is not None  # noqa: S101 - it is a pipe
        async for line in self._process.stderr:
            word, _, rest = line.decode().partition(" ")
            if word == "progress":
                self.ended = int(rest.split()[0])
            else:
                self._said = [*self._said, line.decode()][-_REMEMBERED:]

    def check(self) -> None:
        """Raise an error if it has ended by itself."""
        if self._process.returncode is not None:
            raise ChildError("".join(self._said))

    async def stop(self) -> dict[str, Any]:
        """Have it stop; its answer."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.close()
        async with asyncio.timeout(_PATIENCE):
            text = await self._line()
        if not text:
            raise ChildError("".join(self._said))
        found: dict[str, Any] = json.loads(text)
        return found

    async def _line(self) -> str:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        return (await self._process.stdout.readline()).decode().strip()


@asynccontextmanager
async def node_process(url: str, due: float, path: Path) -> AsyncIterator[NodeProcess]:
    """A node that takes part in a race, and is gone afterwards."""
    arguments = ("-m", "benchmarks.nodes.node", url, str(due), str(path))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=REPOSITORY, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    node = NodeProcess(process)
    listening = asyncio.ensure_future(node.listen())
    try:
        yield node
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await listening
