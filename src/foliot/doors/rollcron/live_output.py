"""What runs have written so far, brought to the store while they run, so that others can follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from foliot.errors import FoliotError, StoreError
from foliot.executors.shell.executor import Workplace
from foliot.executors.shell.order import Place
from foliot.protocols import Clock, Output, OutputStore, Run

_PAUSE = timedelta(seconds=1)


class LiveOutput:
    """Keeps what is new, and writes it about once a second.

    It stands before the workplace to see runs leave: what has ended is reported with its output by the
    engine, and must not be overwritten by less. `on_missing` is told when a run finds no place.
    """

    def __init__(self, workplace: Workplace, on_missing: Callable[[], None]) -> None:
        self._workplace = workplace
        self._on_missing = on_missing
        self._new: dict[tuple[str, int], Output] = {}
        self._has_new = asyncio.Event()

    def enter(self, run: Run) -> Place:
        """The place of a run."""
        try:
            return self._workplace.enter(run)
        except FoliotError:
            self._on_missing()
            raise

    def leave(self, run: Run) -> None:
        """The run has ended: what is kept of it comes from the engine now."""
        self._new.pop(run.attempt.key, None)
        self._workplace.leave(run)

    def publish(self, run: Run, text: str, dropped: int) -> None:
        """A run has written something."""
        key, number = run.attempt.key
        self._new[key, number] = Output(run.attempt.job, key, number, text, dropped)
        self._has_new.set()

    async def write_on(self, store: OutputStore, clock: Clock) -> None:
        """Write what is new, until cancelled. A store that is away gets the next, which holds all of it."""
        while True:
            await self._has_new.wait()
            self._has_new.clear()
            outputs, self._new = tuple(self._new.values()), {}
            with suppress(StoreError):  # the engine tells of a store that is away
                await store.write_outputs(outputs)
            await clock.wait(_PAUSE)
