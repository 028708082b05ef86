"""How a node stops: it lets its runs end, reports results, and leaves the store, all in limited time.

    stop ── drain ──▶ ask runs to end ── grace ──▶ report, again while the store is down ──▶ leave

A result that cannot be reported is lost for other nodes, and the run may start again there. So the node tries
to report for a while, but not for ever: a person who stops a node wants it to end.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import timedelta
from math import inf
from typing import Any

from foliot.engine.listeners import Listeners
from foliot.engine.loop import answered
from foliot.engine.runner import Runner
from foliot.engine.settings import Settings
from foliot.errors import NodeBuriedError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.protocols import Clock

_Call = Callable[[], Coroutine[Any, Any, None]]


class Shutdown:
    """The shutdown of a node. `finish` reports results, `leave` leaves the store."""

    def __init__(
        self,
        runner: Runner,
        clock: Clock,
        settings: Settings,
        listeners: Listeners,
        calls: Mapping[str, _Call],
    ) -> None:
        self._runner = runner
        self._clock = clock
        self._settings = settings
        self._listeners = listeners
        self._calls = calls
        self._until = inf

    def begin(self) -> None:
        """Start the drain time; calling it again changes nothing."""
        self._until = min(self._until, self._clock.monotonic() + self._settings.drain.total_seconds())

    def end_now(self) -> None:
        """End the drain time now."""
        self._until = min(self._until, self._clock.monotonic())
        self._runner.end_all(Outcome.INTERRUPTED)

    @property
    def _time_left(self) -> timedelta:
        return timedelta(seconds=max(0.0, self._until - self._clock.monotonic()))

    async def drain(self) -> None:
        """Let runs end for the drain time; then ask the rest to end."""
        await self._clock.wait(self._time_left, self._runner.idle)
        if not self._runner.idle.is_set():
            self._runner.end_all(Outcome.INTERRUPTED)
            self._until = self._clock.monotonic() + self._settings.grace.total_seconds()
            await self._clock.wait(self._settings.grace, self._runner.idle)

    async def leave(self) -> None:
        """Report the remaining results, and leave the store."""
        last_at = self._clock.monotonic() + self._settings.last_report.total_seconds()
        while not await self._try_to_leave():
            if self._clock.monotonic() >= min(self._until, last_at):
                self._listeners.tell_untold(self._runner.untold)
                return
            await self._clock.wait(min(self._settings.pause, self._time_left))

    async def _try_to_leave(self) -> bool:
        """Try once. True if there is nothing left to report, or the store would reject it."""
        try:
            await self._answered("finish")
            await self._answered("leave")
        except (StoreUnavailableError, NodeBuriedError) as error:
            self._listeners.tell_trouble(error)
            return not self._runner.untold or isinstance(error, NodeBuriedError)
        return True

    async def give_up(self) -> None:
        """After a defect: end all runs, and leave at once, so that others need not wait for the lease."""
        with suppress(Exception):  # the first error is the one to raise
            await self._answered("finish")
        await self._runner.abandon(self._settings.grace)
        with suppress(Exception):
            await self._answered("leave")

    async def _answered(self, verb: str) -> None:
        await answered(verb, self._calls[verb](), self._clock, self._settings.last_call)
