"""One start of an engine with its parts. Everything here runs on the engine's loop.

prepare   each part declares its jobs and brings its executors     then: go, finish
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from typing import cast

from foliot.app.part import Part, Workplace
from foliot.app.supervision import keep_alive
from foliot.engine.engine import Engine
from foliot.engine.settings import Settings
from foliot.executors.live_output import LiveOutput
from foliot.model.decision import Event
from foliot.model.kinds import ByKind
from foliot.model.view import AlertHealth, EnqueueHealth, SourceHealth
from foliot.observability.log import LogListener, tell
from foliot.protocols import Clock, Executor, JobQuery, JobWatcher, Listener, Monitor, Notifier
from foliot.wiring import FullStore


class EngineRun:
    """A running engine with its parts. `name` is its name in the log."""

    def __init__(  # noqa: PLR0913 - all that differs between an application and a door
        self,
        name: str,
        clock: Clock,
        parts: Sequence[Part],
        *,
        lease: timedelta,
        listeners: Sequence[Listener] = (),
        monitors: Sequence[Monitor] = (),
        watch: Callable[[SourceHealth | AlertHealth | EnqueueHealth], None] = lambda _: None,
        tells_failures: bool = True,
    ) -> None:
        self._name = name
        self._clock = clock
        self._parts = tuple(parts)
        self._lease = lease
        title = (self._title,) if parts else ()
        self._log = LogListener(*title, tells_failures=tells_failures)
        self._listeners = (self._log, *listeners, *(part for part in parts if isinstance(part, Listener)))
        self._monitors = (self._log, *monitors)
        self._watch = watch
        self._executors = ByKind[Executor]()
        self._groups: dict[
            str, int
        ] = {}  # the engine's own: what is put in here counts from its next claim on
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._engine: Engine | None = None
        self._write_outputs: Callable[[], Awaitable[None]]
        self._life: asyncio.Future[None] | None = None
        self._beside: set[asyncio.Task[None]] = set()

    async def prepare(
        self, store: FullStore, settings: Settings, new_id: Callable[[], str], node_name: str
    ) -> None:
        """Let the parts declare their jobs, and make an engine that has not started yet."""
        live = LiveOutput()
        self._groups.update(settings.groups)
        self._write_outputs = lambda: live.write_on(store, self._clock)
        place = Workplace(
            store,
            self._clock,
            self._lease,
            self._handle_events,
            self._watch,
            live.follow,
            self._add_executors,
            self._limit_groups,
            lambda: 0.0 if self._engine is None else self._engine.rests_until,
        )
        try:
            for part in self._parts:
                self._executors |= await part.begin(place)
        except BaseException:
            await self._close_parts()
            raise
        await self._tell_jobs(store)
        self._engine = Engine(
            store,
            self._executors,
            clock=self._clock,
            settings=replace(settings, groups=self._groups),
            new_id=new_id,
            name=node_name,
            listeners=self._listeners,
            monitors=self._monitors,
            outputs=store,
            hints=cast("Notifier", store) if store.traits.tells_changes else None,
            version=version("foliot"),
        )

    def _add_executors(self, executors: Mapping[str, Executor]) -> None:
        if executors.items() <= self._executors.items():
            return
        self._executors.update(executors)
        if self._engine is not None:
            self._engine.learn()

    def _limit_groups(self, limits: Mapping[str, int]) -> None:
        if limits.items() <= self._groups.items():
            return
        self._groups.update(limits)
        if self._engine is not None:
            self._engine.learn()

    async def _tell_jobs(self, store: FullStore) -> None:
        """Tell monitors the existing jobs, at most as many as they distinguish."""
        watchers = [monitor for monitor in self._monitors if isinstance(monitor, JobWatcher)]
        views = await store.jobs(JobQuery(limit=1000)) if watchers else ()
        for watcher in watchers:
            watcher.on_jobs(views)

    def go(self) -> None:
        """Start the engine and the parts."""
        assert self._engine is not None  # noqa: S101 - `prepare` has made it
        self._life = asyncio.ensure_future(self._engine.run())
        self._life.add_done_callback(self._note_end)
        for part in self._parts:
            self._keep_alive(type(part).__name__, part.live)
        self._keep_alive("live output", self._write_outputs)

    def _keep_alive(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.ensure_future(keep_alive(name, work, self._clock))
        self._beside.add(task)  # keep a reference: the loop has only a weak one
        task.add_done_callback(self._beside.discard)

    def _title(self, job: str) -> str | None:
        return next((title for part in self._parts if (title := part.title(job))), None)

    async def _close_parts(self) -> None:
        for part in self._parts:
            await part.close()

    def _note_end(self, life: asyncio.Future[None]) -> None:
        if life.cancelled():
            self._ended.cancel()
        elif error := life.exception():
            tell("engine_failed", error, app=self._name, error=str(error))
            self._ended.set_exception(error)
        else:
            self._ended.set_result(None)

    def _handle_events(self, events: Sequence[Event]) -> None:
        """Pass events of this program's own changes to the engine at once."""
        if self._engine is None:
            self._log.on_events(events)
        else:
            self._engine.handle_events(events)
            self._engine.wake()

    async def finish(self) -> None:
        """Shut down gracefully; after this nothing runs. Raises the error that ended the engine, if any."""
        for task in self._beside:
            task.cancel()
        if self._engine is None:
            return
        self._engine.stop()
        try:
            if self._life is not None:
                await asyncio.shield(asyncio.wrap_future(self._ended))
        finally:
            await self._close_parts()
