"""`Foliot`: jobs in Python code, and the engine that runs them inside the program.

    app = Foliot("sqlite:///jobs.db")     one engine thread with a loop of its own: store, planner, leases
      @app.job(...)  async def …          coroutines run on the program's loop, plain functions in threads
    asyncio.run(app.run())                or `async with app:`, or app.start() … app.stop()

Jobs of the code and jobs that are scheduled while the program runs are two sources of the same store: a
new release of the code changes the first and leaves the second alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from foliot.app.core import Core, make_settings
from foliot.app.options import JobOptions, Template, make_schedule
from foliot.app.part import Part
from foliot.app.registry import Registry
from foliot.app.runtime import Runtime
from foliot.app.status import JobStatus, status_of
from foliot.app.thread import LoopThread
from foliot.clock import SystemClock
from foliot.engine.foresight import Why
from foliot.errors import AppStateError, InvalidJobError
from foliot.model.attempt import Attempt
from foliot.model.decision import Event
from foliot.model.job import Action, Job
from foliot.protocols import Clock
from foliot.schedules import Every, Schedule
from foliot.wiring import check_url

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Scheduled = tuple[str, Schedule | str, Callable[..., Any] | str, Mapping[str, Any] | None]

_BATCH = 10_000


class Foliot:
    """An application's jobs. Make one per program, declare jobs, and run it."""

    def __init__(
        self,
        store: str = "sqlite:///foliot.db",
        *,
        name: str = "app",
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        check_url(store)
        self.name = name
        self._registry = Registry()
        self._core = Core(store, name, clock or SystemClock(), make_settings(settings))
        self._parts: list[Part] = []
        self._runtime: Runtime | None = None
        self._thread: LoopThread | None = None
        self._check_name()

    def _check_name(self) -> None:
        """Refuse now what every job of this name would refuse later."""
        Template(self.name, {}).declared("check", Every("1h"), Action(kind="python:check"))

    # -- declaring ---------------------------------------------------------------------------------

    def job(
        self,
        schedule: Schedule | str,
        *,
        name: str | None = None,
        timezone: str | None = None,
        **options: Unpack[JobOptions],
    ) -> Callable[[F], F]:
        """Declare a job: the function below runs by this schedule. The function itself stays as it is."""
        rule, template = make_schedule(schedule, timezone), Template(self.name, options)

        def declare(function: F) -> F:
            job_name = name or function.__name__
            kind = self._registry.add_function(job_name, function)
            action = self._registry.action(function, None)
            self._registry.add_job(template.declared(job_name, rule, action))
            self._announce(kind)
            return function

        return declare

    def action(self, function: F | None = None, *, name: str | None = None) -> Any:
        """Make a function something that jobs can be scheduled for: `@app.action`, or with a name."""

        def register(function: F) -> F:
            self._announce(self._registry.add_function(name or function.__name__, function))
            return function

        return register if function is None else register(function)

    def attach(self, part: Part) -> None:
        """Have the engine carry out the jobs of another source, too, such as a git repository's."""
        if self._runtime is not None:
            raise AppStateError(self.name, "it is running", hint="attach it before")
        self._parts.append(part)

    def use_store(self, store: str) -> None:
        """Keep the jobs elsewhere than the code says: for whoever runs it, not for whoever wrote it."""
        check_url(store)
        if self._runtime is not None or self._thread is not None:
            raise AppStateError(self.name, "its store is open", hint="say so before it is used")
        self._core.url = store

    def _announce(self, kind: str) -> None:
        """What is registered while the engine runs is declared at once."""
        if self._runtime is not None:
            self._runtime.learn(kind)

    # -- scheduling --------------------------------------------------------------------------------

    async def schedule(
        self,
        name: str,
        schedule: Schedule | str,
        action: Callable[..., Any] | str,
        *,
        payload: Mapping[str, Any] | None = None,
        timezone: str | None = None,
        **options: Unpack[JobOptions],
    ) -> None:
        """Add a job, or change it; it stays until it is unscheduled, whatever the code declares."""
        rule = make_schedule(schedule, timezone)
        await self.schedule_many([(name, rule, action, payload)], **options)

    async def schedule_many(
        self,
        jobs: Iterable[Scheduled] | AsyncIterable[Scheduled],
        **options: Unpack[JobOptions],
    ) -> int:
        """Add or change many jobs, in batches; how many. A batch is taken whole or not at all."""
        count, template = 0, Template(self._core.added, options)
        batch: list[Job] = []
        async for name, schedule, action, payload in _each(jobs):
            if name in self._registry:
                raise InvalidJobError("name", name, "is declared in the code", hint="choose another name")
            what = self._registry.action(action, payload)
            batch.append(template.scheduled(name, make_schedule(schedule, None), what))
            if len(batch) >= _BATCH:
                count += await self._add(batch)
                batch = []
        return count + await self._add(batch)

    async def _add(self, batch: list[Job]) -> int:
        if batch:
            await self._call(self._core.declare(tuple(batch)))
        return len(batch)

    async def unschedule(self, *names: str) -> None:
        """Remove jobs that were scheduled. What runs may end. JobNotFoundError if there is no such job."""
        await self._call(self._core.remove(names))

    # -- asking and telling ------------------------------------------------------------------------

    async def trigger(self, name: str, *, request: str | None = None) -> str:
        """Run a job now, beside its schedule; the key of the run. The same `request` again runs it once."""
        return await self._call(self._core.trigger(name, request))

    async def pause(self, name: str) -> None:
        """Let a job rest until it is resumed; it survives restarts. What runs goes on."""
        await self._call(self._core.pause(name))

    async def resume(self, name: str) -> None:
        """End a pause. What was missed meanwhile is not caught up."""
        await self._call(self._core.resume(name))

    async def cancel(self, run_key: str) -> None:
        """Ask a run to end, wherever it runs."""
        await self._call(self._core.cancel(run_key))

    async def history(self, name: str | None = None, *, limit: int = 20) -> Sequence[Attempt]:
        """The latest attempts, of one job or of all, newest first."""
        return await self._call(self._core.history(name, limit))

    async def log(self, attempt: Attempt) -> str:
        """What an attempt told its `run.log`."""
        return await self._call(self._core.log(attempt))

    async def jobs(self) -> list[JobStatus]:
        """All jobs of this application, with what is next for them and what is wrong with them."""
        views = await self._call(self._core.views())
        return [status_of(view, self._registry.functions) for view in views]

    async def why(self, name: str, at: datetime | None = None) -> Why:
        """Why a job runs, ran or did not run at an instant; without one, what is next."""
        return await self._call(self._core.why(name, at, frozenset(self._registry.functions)))

    @property
    def store(self) -> str:
        """The URL of the store, with its password, if it has one."""
        return self._core.url

    @property
    def metrics(self) -> Any:
        """What counts and measures, if something does."""
        return self._core.settings.metrics

    @property
    def failure(self) -> BaseException | None:
        """The error with which the engine has ended by itself, if it has: for a health check to ask."""
        return self._core.failure

    def listen(self, listener: Callable[[Event], None]) -> Callable[[Event], None]:
        """Have a function told of every event, on the engine's thread, so it must be quick."""
        self._core.listeners.append(listener)
        return listener

    # -- running -----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run until SIGTERM or Ctrl-C: then drain. A second signal ends what runs at once."""
        runtime = self._make_runtime(asyncio.get_running_loop())
        with runtime.heeding_signals() as asked:
            beginning = asyncio.ensure_future(self._begin(runtime))
            if not await _begins_before(asked, beginning):
                return
            try:
                await runtime.until(asked)
            finally:
                await self._finish()

    async def __aenter__(self) -> Self:
        await self._begin(self._make_runtime(asyncio.get_running_loop()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._finish()
        except Exception as failure:
            if error is None or failure is not self.failure:  # the block's own error counts more
                raise

    def start(self) -> None:
        """Run in the background, from a program without an event loop. Coroutines get a loop of their own."""
        jobs_thread = LoopThread(f"foliot-{self.name}-jobs")
        try:
            runtime = self._make_runtime(jobs_thread.loop, jobs_thread)
            self._engine_thread().submit(self._begin(runtime)).result()
        except BaseException:
            jobs_thread.close()
            raise

    def stop(self) -> None:
        """End what `start` began: claim no more, let what runs end for a while, then end it."""
        runtime = self._runtime
        threads = (self._thread, None if runtime is None else runtime.jobs_thread)
        if any(thread is not None and thread.is_current for thread in threads):
            hint = "call it from the thread that started it"
            raise AppStateError(self.name, "a job or a listener cannot stop what runs it", hint=hint)
        try:
            if runtime is not None:
                self._engine_thread().submit(self._finish()).result()
        finally:
            if runtime is not None and runtime.jobs_thread is not None:
                runtime.jobs_thread.close()
            self.close()

    def wait(self, work: Awaitable[T]) -> T:
        """Do from plain code what is awaited elsewhere: `app.wait(app.trigger("x"))`."""
        thread = self._engine_thread()
        if thread.is_current:
            hint = "schedule it on another thread, or make the listener quick"
            raise AppStateError(self.name, "the engine's own thread cannot wait for itself", hint=hint)
        return thread.submit(self._after_declarations(_as_coroutine(work))).result()

    def close(self) -> None:
        """Let go of the store. Only for programs that schedule and do not run; `stop` does it otherwise."""
        if self._runtime is not None:
            raise AppStateError(self.name, "it is running", hint="stop it first")
        if self._thread is not None:
            self._thread.submit(self._core.close()).result()
            self._thread.close()
            self._thread = None

    # -- inside ------------------------------------------------------------------------------------

    def _make_runtime(
        self, jobs_loop: asyncio.AbstractEventLoop, jobs_thread: LoopThread | None = None
    ) -> Runtime:
        if self._runtime is not None:
            raise AppStateError(self.name, "it is running already")
        self._runtime = Runtime(self._core, self._registry, jobs_loop, jobs_thread, self._parts)
        return self._runtime

    async def _begin(self, runtime: Runtime) -> None:
        beginning = asyncio.ensure_future(self._on_engine(runtime.begin()))
        try:
            await asyncio.shield(beginning)
        except asyncio.CancelledError:  # what has begun by then is ended: nobody else knows of it
            runtime.hurry()
            await asyncio.wait((beginning,))
            await self._finish()
            raise
        except BaseException:
            self._runtime = None
            raise

    async def _finish(self) -> None:
        runtime = self._runtime
        if runtime is None:
            return
        ending = asyncio.ensure_future(self._on_engine(self._end(runtime)))
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:  # whoever waits for the drain no longer does
            runtime.hurry()
            await asyncio.wait((ending,))
            raise

    async def _end(self, runtime: Runtime) -> None:
        """The store is let go of when the engine has ended, not before."""
        try:
            await runtime.finish()
        finally:
            self._runtime = None
            await self._core.close()

    def _engine_thread(self) -> LoopThread:
        if self._thread is None:
            self._thread = LoopThread(f"foliot-{self.name}")
        return self._thread

    async def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Everything that touches the store happens on the engine's thread."""
        if asyncio.get_running_loop() is self._engine_thread().loop:
            return await work
        return await self._on_engine(self._after_declarations(work))

    async def _on_engine(self, work: Coroutine[Any, Any, T]) -> T:
        thread = self._engine_thread()
        return await (work if asyncio.get_running_loop() is thread.loop else thread.call(work))

    async def _after_declarations(self, work: Coroutine[Any, Any, T]) -> T:
        """What was declared a line above is there for the next call."""
        if self._runtime is not None:
            await self._runtime.declared()
        return await work


async def _begins_before(asked: asyncio.Event, beginning: asyncio.Future[None]) -> bool:
    """Whether it has begun before it was asked to stop; if not, it no longer does. Raises what went wrong."""
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


async def _each(jobs: Iterable[Scheduled] | AsyncIterable[Scheduled]) -> AsyncIterable[Scheduled]:
    if isinstance(jobs, AsyncIterable):
        async for job in jobs:
            yield job
    else:
        for job in jobs:
            yield job


async def _as_coroutine(work: Awaitable[T]) -> T:
    return await work
