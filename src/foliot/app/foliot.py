"""`Foliot`: jobs in Python code, and the engine that runs them inside the program.

    app = Foliot("sqlite:///jobs.db")     one engine thread with a loop of its own: store, planner, leases
      @app.job(...)  async def …          coroutines run on the program's loop, plain functions in threads
    asyncio.run(app.run())                or `async with app:`, or app.start() … app.stop()

Jobs of the code and jobs that are scheduled while the program runs are two sources of the same store: a
new release of the code changes the first and does not touch the second.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from foliot.app.alerts import alert_parts
from foliot.app.core import Core, check_clock, check_store, make_settings
from foliot.app.hosted import Hosted
from foliot.app.options import JobOptions, Rules, Scheduled, Template, each, make_schedule, name_job, naming
from foliot.app.part import Part, check_part
from foliot.app.registry import Registry, name_of
from foliot.app.runtime import Runtime, begins_before
from foliot.app.status import JobStatus, status_of
from foliot.app.thread import EngineThread, LoopThread, as_coroutine, closing_if_refused
from foliot.clock import SystemClock
from foliot.engine.listeners import check_monitor
from foliot.errors import AppStateError, InvalidJobError
from foliot.model.attempt import Attempt
from foliot.model.decision import Event
from foliot.model.job import Action, Job
from foliot.model.version import API_SOURCE
from foliot.operations import Operations
from foliot.protocols import Clock, JobView
from foliot.schedules import Every, Schedule
from foliot.why import Why

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_BATCH = 10_000


class Foliot(Hosted):
    """An application's jobs. Make one per program, declare jobs, and run it."""

    def __init__(
        self,
        store: str = "sqlite:///foliot.db",
        *,
        name: str = "app",
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        check_store(store)
        self.name = name
        self._check_name()
        check_clock(clock := SystemClock() if clock is None else clock)
        self._core = Core(store, name, clock, make_settings(settings))
        self._registry = Registry(self._core.settings.executors)
        if self.metrics is not None:
            check_monitor(self.metrics, "metrics")
        self._parts = alert_parts(self._core.settings.channels)
        self._runtime: Runtime | None = None
        self._thread = EngineThread(name, self._core.close)

    def _check_name(self) -> None:
        """Check the name now, not at the first job."""
        Template(self.name, {}).declared("check", Every("1h"), Action(kind="python:check"))
        if self.name == API_SOURCE:
            raise InvalidJobError(
                "name", self.name, "is that of the jobs of the REST API", hint="choose another"
            )

    # -- declaring ---------------------------------------------------------------------------------

    def job(
        self,
        schedule: Schedule | str,
        *,
        name: str | None = None,
        timezone: str | None = None,
        **options: Unpack[JobOptions],
    ) -> Callable[[F], F]:
        """Declare a job: the function below runs by this schedule. Returns the function unchanged."""
        rule = make_schedule(schedule, timezone)
        if name is not None:
            self._template(name, options)  # checked here, if the name is known

        def declare(function: F) -> F:
            job_name = name_of(function, name)
            template = self._template(job_name, options)
            with naming(job_name):
                self._registry.add_function(job_name, function)
                action = self._registry.action(function, None)
                self._registry.add_job(template.declared(job_name, rule, action))
            self._announce()
            return function

        return declare

    def _template(self, job: str, options: JobOptions) -> Template:
        with naming(job):
            return self._core.template(self.name, options)

    def action(self, function: F | None = None, *, name: str | None = None) -> Any:
        """Register a function as an action of scheduled jobs: `@app.action`, or with a name."""

        def register(function: F) -> F:
            self._registry.add_function(name_of(function, name), function)
            self._announce()
            return function

        return register if function is None else register(function)

    def attach(self, part: Part) -> None:
        """Let the engine run the jobs of another source, too, such as a git repository."""
        if self._runtime is not None:
            raise AppStateError(self.name, "it is running", hint="attach it before")
        check_part(part)
        self._parts.append(part)

    def use_store(self, store: str) -> None:
        """Use another store than the code says. For the operator of a program, not for its author."""
        check_store(store)
        if self._runtime is not None or self._thread.is_open:
            raise AppStateError(self.name, "its store is open", hint="say so before it is used")
        self._core.url = store

    # -- scheduling --------------------------------------------------------------------------------

    async def schedule(
        self,
        name: str,
        schedule: Schedule | str,
        action: Callable[..., Any] | str | Action,
        *,
        payload: Mapping[str, Any] | None = None,
        timezone: str | None = None,
        **options: Unpack[JobOptions],
    ) -> None:
        """Add or change a job. It stays until it is unscheduled, whatever the code declares."""
        rule = make_schedule(schedule, timezone)
        self._template(name, options)  # refused here, with its name
        await self.schedule_many([(name, rule, action, payload)], **options)

    async def schedule_many(
        self, jobs: Iterable[Scheduled] | AsyncIterable[Scheduled], **options: Unpack[JobOptions]
    ) -> int:
        """Add or change many jobs, in batches.

        A batch is stored completely or not at all. Returns how many.
        """
        template = self._core.template(self._core.added, options)
        count, batch, rules = 0, list[Job](), Rules()
        async for name, schedule, action, payload in each(jobs):
            try:  # in this loop, `naming` would cost a million jobs a second
                self._registry.refuse_declared(name)
                what = self._registry.action(action, payload)
                batch.append(template.scheduled(name, rules.of(schedule), what))
            except InvalidJobError as error:
                name_job(error, name)
                raise
            if len(batch) >= _BATCH:
                count += await self._add(batch)
                batch = []
        return count + await self._add(batch)

    async def _add(self, batch: list[Job]) -> int:
        if batch:
            await self._call(self._core.declare(tuple(batch)))
        return len(batch)

    async def unschedule(self, *names: str) -> None:
        """Remove scheduled jobs. Running attempts may end. JobNotFoundError if there is no such job."""
        await self._call(self._core.remove(names))

    # -- asking and telling ------------------------------------------------------------------------

    async def trigger(
        self, name: str, *, request: str | None = None, payload: Mapping[str, Any] | None = None
    ) -> str:
        """Run a job now, with this `run.payload`.

        Returns the key of the run. The same `request` runs it once, whether its run is open or has ended.
        """
        effect = await self._ask(lambda ops: ops.trigger(name, request=request, payload=payload))
        return effect.run

    async def finished(self, run_key: str, *, timeout: timedelta | str | None = None) -> Attempt:  # noqa: ASYNC109
        """Wait for the end of a run, in any process. Returns its last attempt, or raises WaitTimeoutError."""
        return await self._call(self._core.finished(run_key, timeout))

    async def pause(self, name: str, *, reason: str = "", until: datetime | None = None) -> None:
        """Let a job rest until then, or until it is resumed; it survives restarts. What runs goes on."""
        await self._ask(lambda ops: ops.pause(name, reason=reason, until=until))

    async def resume(self, name: str) -> None:
        """End a pause. Occurrences during the pause are not caught up."""
        await self._ask(lambda ops: ops.resume(name))

    async def cancel(self, run_key: str) -> None:
        """Ask a run to end, in any process."""
        await self._ask(lambda ops: ops.cancel(run_key))

    async def history(self, name: str | None = None, *, limit: int = 20) -> Sequence[Attempt]:
        """The latest attempts, of one job or of all, newest first."""
        return await self._ask(lambda ops: ops.history(name, limit))

    async def log(self, attempt: Attempt) -> str:
        """What an attempt wrote to its `run.log`."""
        return await self._ask(lambda ops: ops.log(attempt))

    async def jobs(self) -> list[JobStatus]:
        """All jobs of this application, with their next occurrences and problems."""
        views = await self._call(self._core.views())
        return [status_of(view, self._registry.kinds) for view in views]

    async def find(self, name: str) -> JobView:
        """A job as it is stored, with its definition. JobNotFoundError if there is none."""
        return await self._ask(lambda ops: ops.find(name))

    async def why(self, name: str, at: datetime | None = None) -> Why:
        """Why a job runs, ran or did not run at an instant; without one, what is next."""
        return await self._ask(lambda ops: ops.why(name, at, self._registry.kinds))

    async def _ask(self, question: Callable[[Operations], Awaitable[T]]) -> T:
        return await self._call(self._core.ask(question))

    def listen(self, listener: Callable[[Event], None]) -> Callable[[Event], None]:
        """Call a function with every event, on the engine's thread, so it must be quick."""
        given: object = listener
        if not callable(given) or inspect.iscoroutinefunction(listener):
            hint = "give it a plain function that takes an event"
            raise InvalidJobError("listener", listener, "cannot be called by the engine", hint=hint)
        self._core.listeners.append(listener)
        return listener

    # -- running -----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run until SIGTERM or Ctrl-C; then let jobs finish for `drain`.

        A second signal ends them at once.
        """
        runtime = self._make_runtime(asyncio.get_running_loop())
        try:
            with runtime.stopped_by_signals() as asked:
                beginning = asyncio.ensure_future(self._begin(runtime))
                if not await begins_before(asked, beginning):
                    return
                try:
                    await runtime.until(asked)
                finally:
                    await self._finish()
        finally:
            self._leave()

    async def __aenter__(self) -> Self:
        runtime = self._make_runtime(asyncio.get_running_loop())
        try:
            await self._begin(runtime)
        except BaseException:
            self._leave()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._finish()
        except Exception as failure:
            if error is None or failure is not self.failure:  # the error of the block is more important
                raise
        finally:
            self._leave()

    def start(self) -> None:
        """Run in the background, from a program without an event loop. Coroutines get a loop of their own."""
        jobs_thread = LoopThread(f"foliot-{self.name}-jobs")
        try:
            runtime = self._make_runtime(jobs_thread.loop, jobs_thread)
            self._thread.get().submit(self._begin(runtime)).result()
        except BaseException:
            jobs_thread.close()
            self._leave()
            raise

    def stop(self) -> None:
        """Shut down gracefully: start nothing more, let jobs finish for `drain`, then end them."""
        self._thread.refuse_if_forked()
        runtime = self._runtime
        if self._thread.is_current or (runtime is not None and runtime.is_in_job):
            hint = "have the program stop it, from the thread that started it: set an event for that thread"
            raise AppStateError(self.name, "a job or a listener cannot stop what runs it", hint=hint)
        if runtime is not None and runtime.is_on_jobs_loop:
            hint = "leave the `async with` block, or cancel the task that awaits app.run()"
            raise AppStateError(
                self.name, "stop() would block the event loop that its jobs run on", hint=hint
            )
        try:
            if runtime is not None:
                self._thread.get().submit(self._finish()).result()
        finally:
            if runtime is not None and runtime.jobs_thread is not None:
                runtime.jobs_thread.close()
            self.close()

    def wait(self, work: Awaitable[T]) -> T:
        """Run a coroutine of the application from plain code: `app.wait(app.trigger("x"))`."""
        with closing_if_refused(work):
            self._thread.refuse_if_forked()
            if self._thread.is_current:
                hint = "schedule it on another thread, or make the listener quick"
                raise AppStateError(self.name, "the engine's own thread cannot wait for itself", hint=hint)
        with self._thread.held() as thread:
            return thread.submit(self._after_declarations(as_coroutine(work))).result()

    def close(self) -> None:
        """Close the store. Only for programs that schedule and never run; otherwise `stop` does it."""
        self._thread.refuse_if_forked()
        if self._runtime is not None:
            raise AppStateError(self.name, "it is running", hint="stop it first")
        self._thread.close()

    # -- inside ------------------------------------------------------------------------------------

    def _make_runtime(
        self, jobs_loop: asyncio.AbstractEventLoop, jobs_thread: LoopThread | None = None
    ) -> Runtime:
        self._thread.refuse_if_forked()
        if self._runtime is not None:
            raise AppStateError(self.name, "it is running already")
        self._thread.stay()
        self._runtime = Runtime(self._core, self._registry, jobs_loop, jobs_thread, self._parts)
        return self._runtime

    async def _begin(self, runtime: Runtime) -> None:
        beginning = asyncio.ensure_future(self._on_engine(runtime.begin()))
        try:
            await asyncio.shield(beginning)
        except asyncio.CancelledError:  # end what has started, because no one else will
            runtime.end_now()
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
        except asyncio.CancelledError:  # the caller no longer waits for the drain
            runtime.end_now()
            await asyncio.wait((ending,))
            raise

    async def _end(self, runtime: Runtime) -> None:
        """Close the store after the engine has ended."""
        try:
            await runtime.finish()
        finally:
            self._runtime = None
            await self._core.close()

    def _leave(self) -> None:
        """Leave no thread behind."""
        if self._runtime is None:
            self._thread.leave()

    async def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the engine's thread: only that thread uses the store."""
        with closing_if_refused(work):
            self._thread.refuse_if_forked()
        if self._thread.is_running_here:
            return await work
        with self._thread.held() as thread:
            return await thread.call(self._after_declarations(work))

    async def _on_engine(self, work: Coroutine[Any, Any, T]) -> T:
        return await (work if self._thread.is_running_here else self._thread.get().call(work))

    async def _after_declarations(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait until earlier declarations are stored."""
        if self._runtime is not None:
            await self._runtime.declared()
        return await work
