"""Where an API lives: alone beside a store, or in a program with an application and its engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from foliot.api.service import ReadConfig
from foliot.app import Foliot
from foliot.app.part import Workplace
from foliot.errors import AppStateError
from foliot.model.decision import Event
from foliot.protocols import Clock, Executor
from foliot.wiring import FullStore, open_store

LEASE = timedelta(seconds=30)
_BEATS = 3  # of a lease


class StoreBackend:
    """A store, and no engine in this process."""

    has_engine = False
    is_alive = True
    is_ready = True
    registry = None

    def __init__(self, url: str, clock: Clock, read_config: ReadConfig | None = None) -> None:
        self.place, self._clock = url, clock
        self.read_config = read_config

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[FullStore]:
        """A store object for the API alone."""
        async with open_store(self.place, self._clock, lease=LEASE) as store:
            yield store

    def is_starting(self, within: timedelta) -> bool:  # noqa: ARG002 - no engine is here
        """No engine is here."""
        return False

    def tell(self, events: Sequence[Event]) -> None:
        """Engines of other processes find out by themselves."""

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Nothing happens here."""

    def pull(self, source: str, *, dry_run: bool) -> bool:  # noqa: ARG002 - nothing is followed here
        """Nothing is followed here."""
        return False


class EngineWatch:
    """A part of an application that tells whether the engine's loop turns, and whether it starts jobs."""

    def __init__(self) -> None:
        self._clock: Clock | None = None
        self._lease = LEASE
        self._turned_at: float | None = None
        self._rests_until: Callable[[], float] = lambda: 0.0

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """There is nothing to declare."""
        self._clock, self._lease, self._rests_until = host.clock, host.lease, host.rests_until
        return {}

    async def live(self) -> None:
        """Note each turn."""
        assert self._clock is not None  # noqa: S101 - `begin` was called
        while True:
            self._turned_at = self._clock.monotonic()
            await self._clock.wait(self._lease / _BEATS)

    async def close(self) -> None:
        """The engine has ended."""
        self._turned_at = None

    def title(self, job: str) -> None:
        """No job is its own."""

    def is_starting(self, within: timedelta) -> bool:
        """Whether the engine starts jobs now, or will within so long. False if it has not begun."""
        if self._clock is None or self._turned_at is None:
            return False
        return self._rests_until() <= self._clock.monotonic() + within.total_seconds()

    @property
    def has_begun(self) -> bool:
        """Whether the engine has begun."""
        return self._turned_at is not None

    @property
    def is_alive(self) -> bool:
        """Whether the loop has turned within three beats, or has not begun yet."""
        if self._clock is None or self._turned_at is None:
            return True
        return self._clock.monotonic() - self._turned_at <= self._lease.total_seconds() + 1


class AppBackend:
    """An application in the same process. `pulls`: what has its sources read again, by their names."""

    def __init__(
        self,
        app: Foliot,
        clock: Clock,
        pulls: Callable[[], Mapping[str, Callable[[], None]]] = dict,
        *,
        has_engine: bool = True,
        read_config: ReadConfig | None = None,
    ) -> None:
        self.read_config = read_config
        self._app, self._clock, self._pulls = app, clock, pulls
        self.has_engine = has_engine
        self._watch = EngineWatch()
        self._was_running = False
        try:
            app.attach(self._watch)
        except AppStateError:  # it runs already: that it fails is all that can be known of it
            self._was_running = True

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[FullStore]:
        """A store object for the API alone: no question delays the engine. In memory there is only one."""
        if self._app.store.startswith("memory:"):
            yield await self._app.shared_store()
            return
        async with open_store(self._app.store, self._clock, lease=LEASE) as store:
            yield store

    def is_starting(self, within: timedelta) -> bool:
        """Whether the engine starts jobs now, or will within so long."""
        return self._watch.is_starting(within)

    def tell(self, events: Sequence[Event]) -> None:
        """The engine need not wait to find out."""
        self._app.handle_events(events)

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Have a function told of what happens, on the engine's thread."""
        self._app.listen(listener)

    def pull(self, source: str, *, dry_run: bool) -> bool:
        """Have a repository pulled now."""
        pull = self._pulls().get(source)
        if pull is not None and not dry_run:
            pull()
        return pull is not None

    @property
    def place(self) -> str:
        """The URL of the store."""
        return self._app.store

    @property
    def is_alive(self) -> bool:
        """Whether the engine's loop turns."""
        return self._watch.is_alive and self._app.failure is None

    @property
    def is_ready(self) -> bool:
        """Whether the engine has begun."""
        return self._watch.has_begun or self._was_running or not self.has_engine

    @property
    def registry(self) -> Any:
        """The metrics of the application."""
        return getattr(self._app.metrics, "registry", None)
