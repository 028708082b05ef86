"""From one `initialize` to its `stop`: the store, and the engine's run that carries out what is due.

Where the engine lives: if the scheduler opens its store itself, on a thread and loop of its own, so that
a callback that blocks the program's loop costs no lease. A store that was handed over open, and a clock
that was injected, belong to the caller's loop; then the engine lives there, too. Callbacks always run on
the loop that `initialize` was called on, and listeners are told there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from typing import Any, TypeVar

from foliot.app.engine_run import EngineRun
from foliot.app.thread import LoopThread
from foliot.doors.declarative.part import TasksPart
from foliot.doors.declarative.registration import Plan
from foliot.engine.settings import Settings
from foliot.errors import InvalidStoreError, StoreError
from foliot.model.decision import Event
from foliot.protocols import Clock, Listener, Monitor, Traits
from foliot.wiring import FullStore, check_url, open_store

T = TypeVar("T")
Tell = Callable[[Sequence[Event]], None]

_LEASE = timedelta(seconds=30)
_SETTINGS = Settings(
    slots={"default": 1_000_000_000},  # the document knows no bound
    drain=timedelta(days=36_500),  # `stop` waits for every callback, however long it takes
)


class StoreHandle:
    """Where tasks are kept: a URL that is opened for each start, or a store that is open already."""

    def __init__(self, store: str | FullStore, clock: Clock) -> None:
        if isinstance(store, str):
            check_url(store)
        elif not isinstance(getattr(store, "traits", None), Traits):
            raise InvalidStoreError(type(store).__name__, "is neither a URL nor an open store")
        self._url = store if isinstance(store, str) else None
        self._store = None if isinstance(store, str) else store
        self._clock = clock
        self._open = AsyncExitStack()

    @property
    def is_own(self) -> bool:
        """Whether the scheduler opens it itself."""
        return self._url is not None

    async def open(self) -> FullStore:
        if self._url is None or self._store is not None:
            assert self._store is not None  # noqa: S101 - one of the two was given
            return self._store
        store = await self._open.enter_async_context(open_store(self._url, self._clock, lease=_LEASE))
        if self._url.startswith("memory:"):
            self._store = store  # there is nothing to close, and a stop must not forget everything
        return store

    async def close(self) -> None:
        await self._open.aclose()


class Polling:
    """One stay of a scheduler on its store."""

    def __init__(  # noqa: PLR0913 - what is the scheduler's own
        self,
        home: StoreHandle,
        namespace: str,
        clock: Clock,
        identifier: str,
        plan: Plan,
        *,
        has_thread: bool,
        tell: Tell,
        listeners: Sequence[Listener],
    ) -> None:
        loop = asyncio.get_running_loop()
        self._home = home
        self._identifier = identifier
        self._thread = LoopThread(f"foliot-{namespace}") if has_thread else None
        self._part = TasksPart(namespace, identifier, plan, _SETTINGS, loop)
        self._run = EngineRun(
            namespace,
            clock,
            [self._part],
            lease=_LEASE,
            listeners=(_Bridge(loop, tell, is_direct=not has_thread), *listeners),
            monitors=[listener for listener in listeners if isinstance(listener, Monitor)],
        )

    @property
    def step(self) -> str:
        """What `prepare` is doing, for an error to name."""
        return self._part.step

    async def prepare(self) -> None:
        """Open the store and make it agree with the registrations, in one atomic step."""
        await self._there(self._prepare())

    async def _prepare(self) -> None:
        store = await self._home.open()
        await self._run.prepare(store, _SETTINGS, self._part.take_id, self._identifier)

    def begin(self) -> None:
        """Look after the tasks from now on."""
        if self._thread is None:
            self._run.go()
        else:
            self._thread.loop.call_soon_threadsafe(self._run.go)

    async def end(self) -> None:
        """Start nothing more, wait for what runs, and let go of everything."""
        try:
            with suppress(Exception):  # the log was told when the engine failed
                await self._there(self._run.finish())
        finally:
            await self.close()

    async def close(self) -> None:
        """Let go of the store, and of the thread."""
        try:
            await self._there(self._close())
        finally:
            if self._thread is not None:
                self._thread.close()

    async def _close(self) -> None:
        await self._part.close()
        await self._home.close()

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """On the engine's loop."""
        return await (self._thread.call(work) if self._thread else work)


class _Bridge:
    """Brings events to the caller's loop, in order, before the callbacks that they are about."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tell: Tell, *, is_direct: bool) -> None:
        self._loop = loop
        self._tell = tell
        self._is_direct = is_direct

    def on_events(self, events: Sequence[Event]) -> None:
        if self._is_direct:
            self._tell(events)
        else:
            with suppress(RuntimeError):  # the program's loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(self._tell, events)

    def on_trouble(self, error: StoreError) -> None:
        """The log tells that; the document has no event for it."""
