"""The concurrent writer: somebody else who writes in the very middle of a decision.

A store that decides under a lock makes the writer wait; one that compares and sets finds its record
changed, and must load and ask again. Either way both writes count: that is what the cases assert.
"""

# ruff: noqa: S101 - part of a test suite: it asserts, and pytest shows what was wrong

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

from foliot.model.decision import Decision
from foliot.protocols import Store
from foliot.testing.contract.stage import PATIENCE, Stage

_P = ParamSpec("_P")


class ConcurrentWriter:
    """Does one thing to the same store, from a thread and a handle of its own, during a decision."""

    def __init__(self, stage: Stage, writing: Callable[[Store], Coroutine[Any, Any, Any]]) -> None:
        self._stage = stage
        self._writing = writing
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: BaseException | None = None

    def during(self, decide: Callable[_P, Decision]) -> Callable[_P, Decision]:
        """The same decision; the first time it is asked for, somebody else writes meanwhile."""

        def decide_meanwhile(*args: _P.args, **kwargs: _P.kwargs) -> Decision:
            if self._thread.ident is None:
                self._thread.start()
                self._thread.join(self._stage.head_start)
            return decide(*args, **kwargs)

        return decide_meanwhile

    async def ended(self) -> None:
        """Wait until the writer is done; what went wrong for it is raised here."""
        assert self._thread.ident is not None, "the store did not ask for a decision"
        await asyncio.to_thread(self._thread.join, PATIENCE)
        assert not self._thread.is_alive(), "the store did not let the writer write"
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        async def write() -> None:
            async with self._stage.open_store() as store:
                await self._writing(store)

        try:
            asyncio.run(write())
        except BaseException as error:  # noqa: BLE001 - a thread hands over all of it
            self._error = error
