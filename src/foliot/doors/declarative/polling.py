"""From one `initialize` to its `stop`: the store, and the engine that carries out what is due.

Where the engine lives: if the scheduler opens its store itself, on a thread and loop of its own, so that
a callback that blocks the program's loop costs no lease. A store that was handed over open, and a clock
that was injected, belong to the caller's loop; then the engine lives there, too. Callbacks always run on
the loop that `initialize` was called on, and listeners are told there.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from functools import partial
from typing import Any, TypeGuard, TypeVar
from uuid import uuid4

from foliot.app.supervision import keep_alive
from foliot.app.thread import LoopThread
from foliot.doors.declarative.errors import TaskTryDeserializeError
from foliot.doors.declarative.registration import Callback, Plan
from foliot.doors.declarative.task import sound
from foliot.engine.convergence import Declared
from foliot.engine.engine import Engine
from foliot.engine.planner import plan_lost
from foliot.engine.reckoning import Reckoning
from foliot.engine.reconciler import Declarer
from foliot.engine.settings import Settings
from foliot.errors import InvalidStoreError, StoreError
from foliot.executors.python import JobRun, PythonExecutor, describe
from foliot.model.decision import Event
from foliot.model.state import Node
from foliot.observability.log import LogListener, tell_burial
from foliot.observability.log import tell as log
from foliot.protocols import Clock, Listener, Monitor
from foliot.wiring import FullStore, check_url, open_store

T = TypeVar("T")
Tell = Callable[[Sequence[Event]], None]

_LEASE = timedelta(seconds=30)
_BATCH = 1000
_HERD = 100_000  # tasks from which on the garbage collector would notice them
_SETTINGS = Settings(
    slots={"default": 1_000_000_000},  # the document knows no bound
    drain=timedelta(days=36_500),  # `stop` waits for every callback, however long it takes
)


class Home:
    """Where tasks are kept: a URL that is opened for each start, or a store that is open already."""

    def __init__(self, store: str | FullStore, clock: Clock) -> None:
        if isinstance(store, str):
            check_url(store)
        elif not hasattr(store, "reconcile"):
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
        home: Home,
        namespace: str,
        clock: Clock,
        identifier: str,
        *,
        has_thread: bool,
        tell: Tell,
        listeners: Sequence[Listener],
    ) -> None:
        self._home = home
        self._namespace = namespace
        self._clock = clock
        self._identifier = identifier
        self._loop = asyncio.get_running_loop()
        self._thread = LoopThread(f"foliot-{namespace}") if has_thread else None
        self._log = LogListener()
        bridge = _Bridge(self._loop, tell, is_direct=not has_thread)
        self._listeners: tuple[Listener, ...] = (self._log, bridge, *listeners)
        self._monitors: tuple[Monitor, ...] = (self._log, *filter(_is_monitor, listeners))
        self._store: FullStore | None = None
        self._engine: Engine | None = None
        self._node: str | None = None  # that has joined, until the engine takes it over
        self._declarer: Declarer | None = None
        self._life: asyncio.Future[None] | concurrent.futures.Future[None] | None = None
        self._is_sparing = False
        self._reckoning = Reckoning(clock, _SETTINGS.longest_gap)

    @property
    def step(self) -> str:
        """What is being done before the engine begins, for an error to name."""
        if self._declarer is None:
            return "opening the store"
        is_writing = self._declarer.is_writing
        return "applying the registrations" if is_writing else "reading the persisted tasks"

    async def prepare(self, plan: Plan) -> None:
        """Open the store and make it agree with the registrations, in one atomic step."""
        await self._there(self._prepare(plan))

    async def _prepare(self, plan: Plan) -> None:
        self._store = store = await self._home.open()
        # Who is about to declare tasks is seen before they are: nobody else drops them meanwhile.
        self._node = self._new_node()
        asked_at = self._clock.monotonic()
        lease = await store.join(Node(self._node, self._identifier, tuple(_SETTINGS.slots), plan.mark))
        self._reckoning.take(lease, asked_at)
        declared = Declared(self._namespace, plan.mark, plan.jobs)
        can_bury = await self._let_renew(store, self._node)
        self._declarer = Declarer(store, lambda: declared, lambda view: sound(view, self._namespace).job)
        if can_bury:  # a dead node keeps no tasks
            # By the time as reckoned: a jump of the store's clock while others could renew buries no node.
            for dead in (await store.recover(_BATCH, self._reckoning.now(), plan_lost)).buried:
                tell_burial(dead)
        self._log.note_declared(await self._declarer.declare())
        if not plan.jobs:
            await self._leave()  # there is nothing to look after

    async def _let_renew(self, store: FullStore, node: str) -> bool:
        """Whether a lease that has run out proves a death; where only leases tell, who lives may renew first.

        Nobody knows yet for how long the store was away for others, or whether its clock was set.
        """
        if store.traits.proves_deaths:
            return True
        while await self._has_silent(store):
            wait = self._reckoning.time_to_steady(_SETTINGS.patience)
            if not wait:
                return True
            await self._clock.wait(min(wait, _SETTINGS.pause))
            asked_at = self._clock.monotonic()
            self._reckoning.take(await store.renew(node), asked_at)
        return False

    async def _has_silent(self, store: FullStore) -> bool:
        now = await store.now()
        return any(view.until < now for view in await store.nodes())

    async def _watch_others(self, declarer: Declarer) -> None:
        """When nodes with other lists come or go, drop tasks that no list has, and share the rest anew."""
        while True:
            await self._clock.wait(_LEASE)
            with suppress(StoreError, TaskTryDeserializeError):  # told elsewhere; the next look may do better
                events = await declarer.look_again()
                self._log.note_declared(events)
                if events and self._engine is not None:
                    self._engine.wake()

    def begin(self, plan: Plan) -> None:
        """Look after the tasks from now on."""
        assert self._store is not None and self._declarer is not None  # noqa: S101, PT018 - by `prepare`
        functions = dict.fromkeys(plan.mark, describe(_dispatcher(plan.callbacks)))
        executor = PythonExecutor(functions, jobs_loop=self._loop)
        self._engine = Engine(
            self._store,
            dict.fromkeys(functions, executor),
            clock=self._clock,
            settings=_SETTINGS,
            new_id=self._take_id,
            name=self._identifier,
            listeners=self._listeners,
            monitors=self._monitors,
            outputs=self._store,
        )
        self._spare_the_collector(len(plan.callbacks))
        watch = partial(self._watch_others, self._declarer)
        work = self._live(self._engine, keep_alive(f"others of {self._namespace}", watch, self._clock))
        self._life = self._thread.submit(work) if self._thread else asyncio.ensure_future(work)

    def _spare_the_collector(self, tasks: int) -> None:
        """A herd's callbacks live as long as this; to look at all of them each second takes a fifth of it.

        Whatever else is alive now is not looked at either, until the scheduler stops.
        """
        if tasks >= _HERD:
            gc.collect()
            gc.freeze()
            self._is_sparing = True

    def _new_node(self) -> str:
        return f"{self._identifier}.{uuid4().hex}"

    def _take_id(self) -> str:
        """An id for the engine: as which it has joined already, or a fresh one."""
        node, self._node = self._node, None
        return node or self._new_node()

    async def _live(self, engine: Engine, beside: Coroutine[Any, Any, None]) -> None:
        watch = asyncio.ensure_future(beside)
        try:
            await engine.run()
        except Exception as error:
            log("engine_failed", error, app=self._namespace, error=str(error))
            raise
        finally:
            watch.cancel()

    async def end(self) -> None:
        """Start nothing more, wait for what runs, and let go of everything."""
        try:
            if self._life is not None:
                await self._there(self._ask_to_stop())
                life = self._life
                with suppress(Exception):  # what went wrong was logged when it did
                    await (life if isinstance(life, asyncio.Future) else asyncio.wrap_future(life))
        finally:
            await self.close()

    async def _ask_to_stop(self) -> None:
        if self._engine is not None:
            self._engine.stop()

    async def close(self) -> None:
        """Let go of the store, and of the thread."""
        try:
            await self._there(self._close())
        finally:
            if self._thread is not None:
                self._thread.close()
            if self._is_sparing:
                gc.unfreeze()

    async def _close(self) -> None:
        await self._leave()
        await self._home.close()

    async def _leave(self) -> None:
        node, self._node = self._node, None
        if node is not None and self._store is not None:
            with suppress(StoreError):  # its lease runs out by itself
                await self._store.leave(node)

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """On the engine's loop."""
        return await (self._thread.call(work) if self._thread else work)


def _dispatcher(callbacks: Mapping[str, Callback]) -> Callable[[JobRun], Coroutine[Any, Any, None]]:
    async def dispatch(run: JobRun, **_: object) -> None:
        await callbacks[run.job]()

    return dispatch


def _is_monitor(listener: Any) -> TypeGuard[Monitor]:
    return hasattr(listener, "on_pulse")


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
