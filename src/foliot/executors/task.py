"""Executors whose actions are coroutines on the engine's own loop: one task for each attempt.

`docs/how-to/write-an-executor.md` and `examples/own_executor.py` show how it is used.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from foliot.model.attempt import Outcome
from foliot.protocols import AskToEnd, OnEnd, Result, Run


class TaskExecutor(ABC):
    """The simple way to write an executor: say what `execute` does, and let a task do it."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself would let go of them

    @abstractmethod
    async def execute(self, run: Run) -> Result:
        """Carry the action out. It is cancelled if the attempt is to end."""

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        """Let a task carry it out."""
        task = asyncio.ensure_future(self._live(run, on_end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return lambda: _cancel(task)

    async def _live(self, run: Run, on_end: OnEnd) -> None:
        try:
            result = await self.execute(run)
        except asyncio.CancelledError:
            result = Result(Outcome.CANCELLED)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - a fault fails the run, not the node
            result = Result(Outcome.FAILED, f"{type(error).__name__}: {error}")
        on_end(run, result)


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
