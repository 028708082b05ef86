"""One start of an application: the engine on its own loop, jobs on the program's loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import cast
from uuid import uuid4

from foliot.app.core import AlertWatcher, Core, EnqueueWatcher
from foliot.app.declaration import Declaration
from foliot.app.engine_run import EngineRun
from foliot.app.executors import ExecutorsPart
from foliot.app.part import Part
from foliot.app.pipelines import PipelinesPart
from foliot.app.registry import Registry
from foliot.app.supervision import tell_listener
from foliot.app.thread import LoopThread
from foliot.engine.settings import RECOVER, Settings
from foliot.errors import StoreError, StoreUnavailableError
from foliot.executors.place import MakeExecutor
from foliot.model.decision import Event
from foliot.model.query import names_of
from foliot.model.view import AlertHealth, EnqueueHealth, SourceHealth
from foliot.observability.log import tell
from foliot.protocols import Executor
from foliot.schedules.duration import format_duration

_MOST_NAMED = 5  # jobs that a stop waits for
_PAUSE = timedelta(seconds=1)  # before a call to a busy store is repeated


class Runtime(EngineRun):
    """A running engine with the program's code and parts."""

    def __init__(
        self,
        core: Core,
        registry: Registry,
        jobs_loop: asyncio.AbstractEventLoop,
        jobs_thread: LoopThread | None,
        parts: Sequence[Part] = (),
    ) -> None:
        metrics = core.settings.metrics
        watchers = () if metrics is None else (metrics,)
        self._core = core
        self._own = ExecutorsPart(self._given_executors(), registry, jobs_loop, core.settings.http_allow)
        super().__init__(
            core.name,
            core.clock,
            parts,
            lease=cast("timedelta", core.settings.lease),
            listeners=(_Tell(core), *watchers),
            monitors=watchers,
            watch=self._tell_health,
            tells_failures=core.settings.tells_failures,
        )
        self.jobs_thread = jobs_thread
        self._registry = registry
        self._jobs_loop = jobs_loop
        self._is_alone = not parts
        pipelines = PipelinesPart(self._executors, jobs_loop, core.settings.pipelines)
        self._parts = (self._own, pipelines, *self._parts)
        self._declaration = Declaration(core, registry)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._beginning: asyncio.Task[None] | None = None
        self._tries: set[asyncio.Future[None]] = set()

    # -- on the engine's loop ----------------------------------------------------------------------

    async def begin(self) -> None:
        """Declare the jobs of code and parts, and start an engine."""
        self._core.failure = None
        self._loop = asyncio.get_running_loop()
        self._beginning = asyncio.current_task()
        store = await self._core.store()
        if self._registry.has_jobs or self._is_alone or await store.revision(self._core.name):
            await self._declare()
            self._keep_alive("revisions of the code", self._tidy_on)
        self._mark()
        await self.prepare(store, self._settings(), lambda: uuid4().hex, self._node_name)
        self._core.handle_events = self._handle_events
        self.go()

    @property
    def _node_name(self) -> str:
        return self._core.settings.node_name or self._core.name

    def _given_executors(self) -> Mapping[str, Executor | MakeExecutor]:
        """Those of the program, by the prefixes of their kinds."""
        return self._core.settings.executors

    def _tell_health(self, health: SourceHealth | AlertHealth | EnqueueHealth) -> None:
        metrics = self._core.settings.metrics
        watcher: object = metrics
        if isinstance(health, AlertHealth):
            if isinstance(watcher, AlertWatcher):
                tell_listener(watcher, lambda: watcher.on_alerts(health))
        elif isinstance(health, EnqueueHealth):
            if isinstance(watcher, EnqueueWatcher):
                tell_listener(watcher, lambda: watcher.on_enqueued(health))
        elif metrics is not None:
            tell_listener(metrics, lambda: metrics.on_source(health))

    def _settings(self) -> Settings:
        settings = self._core.settings
        lease, drain, poll = (cast("timedelta", v) for v in (settings.lease, settings.drain, settings.poll))
        return Settings(
            slots=cast("Mapping[str, int]", settings.slots),
            groups=settings.groups,
            beat=lease / 3,
            recover=min(RECOVER, lease / 3),
            drain=drain,
            poll=poll,
        )

    def _note_end(self, life: asyncio.Future[None]) -> None:
        if not life.cancelled():
            self._core.failure = life.exception()
        super()._note_end(life)

    async def _declare(self) -> None:
        self._handle_events(await self._declaration.write())

    def _mark(self) -> None:
        """Announce which version of the code runs here."""
        self._executors.pop(self._own.marker, None)
        self._own.marker = self._declaration.marker

    async def _tidy_on(self) -> None:
        """Check regularly for nodes of other versions: their jobs go when the last one leaves."""
        while True:
            await self._core.clock.wait(cast("timedelta", self._core.settings.lease) / 3)
            with suppress(StoreError):  # the engine tells of a store that is away
                self._handle_events(await self._declaration.tidy())

    # -- from anywhere -----------------------------------------------------------------------------

    @property
    def is_in_job(self) -> bool:
        """Whether the caller is a job of this engine."""
        return self._own.is_in_job or (self.jobs_thread is not None and self.jobs_thread.is_current)

    @property
    def is_on_jobs_loop(self) -> bool:
        """Whether the caller is on the loop of the jobs, which would then wait for itself."""
        return asyncio._get_running_loop() is self._jobs_loop  # noqa: SLF001 - the public one raises if none runs

    def learn(self) -> None:
        """The program has declared something while the engine runs."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._learn)

    def _learn(self) -> None:
        self._mark()
        self._executors.update(self._own.by_kind())
        if self._engine is not None:
            self._engine.learn()
        tried: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tries.add(tried)
        tried.add_done_callback(self._tries.discard)
        self._keep_alive("declaration", partial(self._declare_at_last, tried))

    async def _declare_at_last(self, tried: asyncio.Future[None]) -> None:
        """Declare, and repeat while the store is busy, because no one else would declare it."""
        try:
            while not await self._try_to_declare():
                if not tried.done():
                    tried.set_result(None)  # the next call of the store reports the error
                await self._core.clock.wait(_PAUSE)
        finally:
            if not tried.done():
                tried.set_result(None)

    async def _try_to_declare(self) -> bool:
        try:
            await self._declare()
        except StoreUnavailableError as error:
            self._log.on_trouble(error)
            return False
        return True

    async def declared(self) -> None:
        """Wait until the declarations are stored, or the store has refused them."""
        if self._tries:
            await asyncio.wait(set(self._tries))

    # -- on the program's loop ---------------------------------------------------------------------

    @contextmanager
    def stopped_by_signals(self) -> Iterator[asyncio.Event]:
        """An event that SIGTERM or Ctrl-C sets. A second signal ends running jobs at once."""
        loop, asked = asyncio.get_running_loop(), asyncio.Event()

        def heed() -> None:
            if asked.is_set():
                tell("stop_forced", app=self._core.name)
                self.end_now()
            else:
                drain = self._core.settings.drain
                tell("stop_asked", app=self._core.name, drain=drain, waiting=self._waiting_for(drain))
                asked.set()

        heeded = []
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(number, heed)
            except (NotImplementedError, RuntimeError, ValueError):
                continue  # not the main thread, or not supported here: the program handles signals itself
            heeded.append(number)
        try:
            yield asked
        finally:
            for number in heeded:
                loop.remove_signal_handler(number)

    def _waiting_for(self, drain: timedelta | str) -> str | None:
        """What a stop waits for, and how to end it; None: nothing runs."""
        runs = self._engine.open_runs() if self._engine is not None else []
        if not runs:
            return None
        jobs = [next(names_of(run)).job.partition("/")[2] for run in runs[:_MOST_NAMED]]
        more = f" and {len(runs) - _MOST_NAMED} more" if len(runs) > _MOST_NAMED else ""
        what = f"{len(runs)} run{'s' * (len(runs) != 1)}: {', '.join(jobs)}{more}"
        limit = drain if isinstance(drain, str) else format_duration(drain)
        return f"up to {limit} for {what}; Ctrl-C again ends it"

    async def until(self, asked: asyncio.Event) -> None:
        """Wait until the program is asked to stop, or the engine has failed."""
        signalled = asyncio.ensure_future(asked.wait())
        ended = asyncio.ensure_future(_until(self._ended))
        try:
            await asyncio.wait((signalled, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            signalled.cancel()
            ended.cancel()

    def end_now(self) -> None:
        """End the drain: end running jobs now, and start nothing more."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end_now)

    def _end_now(self) -> None:
        if self._engine is not None:
            self._engine.end_now()
        elif self._beginning is not None:
            self._beginning.cancel()


async def begins_before(asked: asyncio.Event, beginning: asyncio.Future[None]) -> bool:
    """Whether the start was complete before the stop; otherwise the start is cancelled. Raises its errors."""
    stopping = asyncio.ensure_future(asked.wait())
    try:
        await asyncio.wait((beginning, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if is_late := not beginning.done():
            beginning.cancel()
            await asyncio.wait((beginning,))
    if not is_late:
        beginning.result()
    return not is_late


async def _until(future: concurrent.futures.Future[None]) -> bool:
    """Wait for the end of a task; a cancellation of the caller does not cancel it."""
    await asyncio.wait((asyncio.shield(asyncio.wrap_future(future)),))
    return True


class _Tell:
    """Passes events to the program's listeners, and to callers that wait for a run."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def on_events(self, events: Sequence[Event]) -> None:
        self._core.note_ends(events)
        for listener in tuple(self._core.listeners):
            tell_listener(listener, partial(_tell_each, listener, events))

    def on_trouble(self, error: StoreError) -> None:
        pass


def _tell_each(listener: Callable[[Event], None], events: Sequence[Event]) -> None:
    for event in events:
        listener(event)
