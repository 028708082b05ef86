"""A store as one host sees it: slow, failing, cut off, or silent after it has done its work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from foliot.errors import StoreUnavailableError
from foliot.protocols import Store, Traits
from foliot_proof.simulation.logbook import Logbook
from foliot_proof.simulation.world import Host, World

_VERBS = (
    "join", "renew", "leave", "held", "claim", "finish", "recover", "update", "reconcile", "revision",
    "wakes", "jobs", "runs", "skips", "overview", "now", "nodes", "prune",
    "waiting", "waiting_channels", "settle", "alerts",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """How often a call fails before it is done, or after; and how long it takes at most."""

    fails_before: float = 0.0
    fails_after: float = 0.0
    slowest: timedelta = timedelta(milliseconds=50)
    deadline: timedelta = timedelta(seconds=5)


class FaultyStore:
    """Hands every verb on to the real store, through the weather."""

    traits = Traits()

    def __init__(self, store: Store, *, world: World, host: Host, weather: Weather, logbook: Logbook) -> None:
        self._world = world
        self._host = host
        self._weather = weather
        self._logbook = logbook
        for verb in _VERBS:
            setattr(self, verb, self._through(verb, getattr(store, verb)))

    def _through(self, verb: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def verb_through_the_weather(*arguments: Any, **options: Any) -> Any:
            begin = self._world.now
            try:
                await self._travel(verb)
                self._perhaps_fail(self._weather.fails_before, verb, "refused")
                answer = await call(*arguments, **options)
                self._write_down(verb, arguments, answer)
                await self._travel(verb)
                self._perhaps_fail(self._weather.fails_after, verb, "the answer was lost")
            except StoreUnavailableError:
                self._logbook.failed_call(self._host.name, begin, self._world.now)
                raise
            return answer

        return verb_through_the_weather

    def _perhaps_fail(self, chance: float, verb: str, reason: str) -> None:
        if self._world.random.random() < chance:
            raise StoreUnavailableError(verb, reason)

    def _write_down(self, verb: str, arguments: tuple[Any, ...], answer: Any) -> None:
        self._world.note(self._host.name, verb)
        if verb == "join":
            self._logbook.identify(arguments[0].id, self._host.name)
        elif verb == "finish":
            self._logbook.finished(arguments[0], arguments[1], answer, self._world.now)

    async def _travel(self, verb: str) -> None:
        """The way to the store, or back."""
        await self._host.gate()
        if self._host.is_cut_off:
            await asyncio.sleep(self._weather.deadline.total_seconds())  # noqa: TID251 - virtual time
            await self._host.gate()
            raise StoreUnavailableError(verb, "no answer in time")
        delay = self._weather.slowest.total_seconds() * self._world.random.random()
        await asyncio.sleep(delay)  # noqa: TID251 - virtual time
        await self._host.gate()
