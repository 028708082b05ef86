"""A store as one host sees it: slow, failing, cut off, or silent after it has done its work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from foliot.errors import StoreUnavailableError
from foliot.protocols import Store
from foliot.testing.simulation.world import Host, World

_VERBS = (
    "join", "renew", "leave", "held", "claim", "finish", "recover", "update", "reconcile", "revision",
    "next_wake", "jobs", "runs", "skips", "overview", "prune",
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

    def __init__(self, store: Store, world: World, host: Host, weather: Weather) -> None:
        self._store = store
        self._world = world
        self._host = host
        self._weather = weather
        for verb in _VERBS:
            setattr(self, verb, self._through(verb, getattr(store, verb)))

    def _through(self, verb: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def verb_through_the_weather(*arguments: Any, **options: Any) -> Any:
            await self._travel(verb)
            if self._world.random.random() < self._weather.fails_before:
                raise StoreUnavailableError(verb, "refused")
            answer = await call(*arguments, **options)
            self._world.note(self._host.name, verb)
            await self._travel(verb)
            if self._world.random.random() < self._weather.fails_after:
                raise StoreUnavailableError(verb, "the answer was lost")
            return answer

        return verb_through_the_weather

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
