"""An application stepped by hand: a year of one's jobs in seconds, and every time with the same result.

    with Stepper(app, at="2026-01-31T23:00:00+01:00") as time:
        time.advance(days=1)
        assert time.runs("invoice")[0].outcome is Outcome.SUCCEEDED

The engine, planner and executor are those of production. Replaced, until the block ends, are the store
(a new one in memory), the clock, and the threads: all of it runs on one loop, in the caller's thread, whose
time passes only in a step. A coroutine's `asyncio.sleep` sleeps in that time; a plain function takes none.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack

from foliot.app.core import Core
from foliot.app.foliot import Foliot
from foliot.app.registry import Registry
from foliot.app.runtime import Runtime
from foliot.clock import wait_on_loop
from foliot.engine.settings import Settings
from foliot.errors import AppStateError, InvalidScheduleError, NaiveInstantError
from foliot.executors.place import MakeExecutor
from foliot.executors.python import Function, PythonExecutor
from foliot.executors.threads import ThreadCrew
from foliot.model.attempt import Attempt, Outcome
from foliot.model.decision import Event, Happening
from foliot.protocols import Claimed, Executor, Result
from foliot.schedules.duration import parse_duration
from foliot.stores.memory import MemoryStore
from foliot.testing.step_loop import StepLoop, at_once

T = TypeVar("T")

_START = datetime(2026, 1, 1, tzinfo=UTC)
_LONG = timedelta(days=3650)  # nobody else uses the store: no lease to renew often, nobody to look for
_LAST = datetime.max.replace(tzinfo=UTC)
_ALL = sys.maxsize
_FAILURES = (Outcome.FAILED, Outcome.TIMED_OUT)


class Span(TypedDict, total=False):
    """A duration, by its parts."""

    weeks: float
    days: float
    hours: float
    minutes: float
    seconds: float


class Stepper:
    """Moves an application through time. The application is given back as it was when the block ends."""

    def __init__(self, app: Foliot, *, at: datetime | str = _START, raise_failures: bool = False) -> None:
        self._app = app
        self._loop = StepLoop(app.name)  # type: ignore[abstract] # what it lacks is for I/O, and is to fail
        self._clock = _StepClock(self._loop, _instant(at))
        self._failures = _Failures(self._loop, is_raised=raise_failures)
        self._before: dict[str, Any] = {}

    def __enter__(self) -> Self:
        parts = vars(self._app)
        if parts["_runtime"] is not None:
            raise AppStateError(self._app.name, "it is running", hint="stop it, then step it")
        self._before = dict(parts)
        self._core = _StepCore(parts["_core"], self._clock)
        self._core.listeners = [*parts["_core"].listeners, self._failures.heed]
        self._registry = _copied(parts["_registry"])
        parts.update(_core=self._core, _registry=self._registry, _thread=_Here(self._loop))
        # What a web application does when it begins and ends: here, the block has done it.
        parts.update(_make_runtime=lambda *_: self._runtime, _begin=self._begun, _finish=_nothing_to_wait_for)
        parts.update(start=_nothing, stop=_nothing, close=_nothing)
        try:
            self._begin()
        except BaseException:
            self._give_back()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._loop.end_all()
        finally:
            self._give_back()
        if error is None:
            self._loop.raise_alarm()

    def _give_back(self) -> None:
        parts = vars(self._app)
        parts.clear()
        parts.update(self._before)

    def _begin(self) -> None:
        self._runtime = _StepRuntime(self._core, self._registry, self._loop, self._failures)
        vars(self._app)["_runtime"] = self._runtime
        self._loop.complete(self._runtime.begin())

    async def _begun(self, *_: object) -> Runtime:
        return self._runtime

    # -- steps -------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """What time it is in the block."""
        return self._clock.now()

    def advance(self, by: timedelta | str = timedelta(0), **parts: Unpack[Span]) -> None:
        """Let so much time pass: `advance(days=1)`, `advance("1h30m")`. What comes due meanwhile runs."""
        self._run_to("duration", by or parts, self.now + _duration(by, parts))

    def run_until(self, instant: datetime | str) -> None:
        """Let time pass until then; what is due at that instant runs, too."""
        self._run_to("instant", instant, _instant(instant))

    def _run_to(self, argument: str, given: object, instant: datetime) -> None:
        if instant < self.now:
            hint = f"it is {self.now.isoformat()}"
            raise InvalidScheduleError(argument, given, "time does not run backwards", hint=hint)
        self._loop.run_to(self._clock.seconds_at(instant))

    def outage(self, by: timedelta | str = timedelta(0), **parts: Unpack[Span]) -> None:
        """Stop the program in order, as `app.stop` does, and start it again so much later."""
        self._loop.complete(self._runtime.finish())
        self.advance(by, **parts)
        self._begin()

    def crash(self, by: timedelta | str = timedelta(0), **parts: Unpack[Span]) -> None:
        """Let the program die, with what it runs, and start it again so much later.

        That it died is known at once; in production, when its lease has run out.
        """
        self._loop.end_all()
        self._loop.complete(self._runtime.bury())
        self.advance(by, **parts)
        self._begin()

    # -- questions ---------------------------------------------------------------------------------

    def next(self, name: str) -> datetime | None:
        """When a job is to run next."""
        view = self._loop.complete(self._core.ask(lambda ops: ops.find(name)))
        return None if view.record is None else view.record.state.next_at

    def runs(self, name: str | None = None) -> list[Attempt]:
        """All attempts of a job, or of all jobs, oldest first. In a block, nothing is forgotten."""
        found = self._loop.complete(self._core.ask(lambda ops: ops.history(name, _ALL)))
        return sorted(found, key=_order)


def _order(attempt: Attempt) -> tuple[datetime, datetime, str, int, int]:
    """By the time that it is for; those of one instant in the order in which they started."""
    return (
        attempt.scheduled_for, attempt.claimed_at or _LAST, attempt.job, attempt.token, attempt.number,
    )  # fmt: skip


class _StepClock:
    """The loop's time, as a clock."""

    def __init__(self, loop: StepLoop, start: datetime) -> None:
        self._loop = loop
        self._start = start

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        return self._loop.time()

    def seconds_at(self, instant: datetime) -> float:
        """The loop's time at an instant."""
        return (instant - self._start).total_seconds()

    async def wait(self, duration: timedelta, until: asyncio.Event | None = None) -> None:
        await wait_on_loop(duration, until)


class _StepStore(MemoryStore):
    """A store whose answers are never lost, and need not be remembered."""

    def _remember(self, claim_id: str, claimed: Claimed) -> None:
        del claim_id, claimed


class _StepCore(Core):
    """An application's verbs, on a store of the block."""

    def __init__(self, like: Core, clock: _StepClock) -> None:
        super().__init__("memory://", like.name, clock, replace(like.settings, lease=_LONG, poll=_LONG))
        self._own = _StepStore(clock, lease=_LONG)

    async def store(self) -> MemoryStore:
        return self._own

    async def close(self) -> None:
        """The store goes with the block."""


class _Failures:
    """Notes what jobs raise; what nobody will try again ends the step, if failures are to be raised."""

    def __init__(self, loop: StepLoop, *, is_raised: bool) -> None:
        self._loop = loop
        self._is_raised = is_raised
        self._errors: dict[tuple[str, int], BaseException] = {}
        self._failed: dict[str, Event] = {}

    def note(self, key: tuple[str, int], error: BaseException) -> None:
        """A job has raised. Ctrl-C, and what pytest raises to end a test, are not the job's."""
        if not isinstance(error, Exception | SystemExit | asyncio.CancelledError):
            self._loop.give_alarm(error)
        elif self._is_raised:
            self._errors[key] = error

    def heed(self, event: Event) -> None:
        """A listener of the application."""
        if not self._is_raised or event.run_key is None:
            return
        if event.what is Happening.RETRY_PLANNED:
            self._failed.pop(event.run_key, None)
        elif event.what is Happening.ENDED and event.attempt and event.attempt.outcome in _FAILURES:
            self._failed[event.run_key] = event
            self._loop.call_soon(self._judge)  # after the events that were told with this one

    def _judge(self) -> None:
        errors, self._errors = self._errors, {}
        failed, self._failed = self._failed, {}
        for run_key, event in failed.items():
            error = errors.get((run_key, event.number))
            if not isinstance(error, Exception):
                error = _exception_of(event)
            error.add_note(f"raised by {run_key}, attempt {event.number}, at {event.at.isoformat()}")
            self._loop.give_alarm(error)
            return


def _exception_of(event: Event) -> Exception:
    attempt = event.attempt
    text = attempt.error if attempt and attempt.error else event.reason
    return TimeoutError(text) if attempt and attempt.outcome is Outcome.TIMED_OUT else RuntimeError(text)


class _StepRuntime(Runtime):
    """One start of an application, without threads."""

    def __init__(self, core: Core, registry: Registry, loop: StepLoop, failures: _Failures) -> None:
        self._python = _StepExecutor(registry.functions, loop, failures)
        super().__init__(core, registry, loop, None)

    def _given_executors(self) -> Mapping[str, Executor | MakeExecutor]:
        return {**super()._given_executors(), "python": self._python}

    async def bury(self) -> None:
        """Have the store know that this engine lives no more."""
        if self._engine is not None:
            await (await self._core.store()).leave(self._engine.node)

    async def _tidy_on(self) -> None:
        """Nobody else is there."""

    def _settings(self) -> Settings:
        return replace(super()._settings(), recover=_LONG, prune=_LONG)


class _StepExecutor(PythonExecutor):
    """Does at once what would be done in a thread, and notes what is raised."""

    def __init__(self, functions: Mapping[str, Function], loop: StepLoop, failures: _Failures) -> None:
        super().__init__(functions, jobs_loop=loop)
        self._crew = _AtOnce()
        self._failures = failures

    def _ended(self, act: Any, result: Result) -> None:
        error = sys.exception()
        if result.outcome is Outcome.FAILED and error is not None:
            self._failures.note(act.run.attempt.key, error)
        super()._ended(act, result)


class _AtOnce(ThreadCrew):
    def do(self, work: Callable[[], None]) -> None:
        at_once(work)


class _Here:
    """Stands in for the engine's thread: what it is given is done here and now."""

    def __init__(self, loop: StepLoop) -> None:
        self.loop = loop

    is_open = True

    @property
    def is_current(self) -> bool:
        return self.loop.is_running()

    @property
    def is_running_here(self) -> bool:
        return asyncio.get_running_loop() is self.loop

    def refuse_if_forked(self) -> None:
        """There is no thread that could be gone."""

    def get(self) -> Self:
        return self

    @contextmanager
    def held(self) -> Iterator[Self]:
        yield self

    def stay(self) -> None:
        """The block decides how long it lives."""

    leave = close = stay

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        try:
            future.set_result(self.loop.complete(work))
        except Exception as error:  # noqa: BLE001 - handed to whom it belongs
            future.set_exception(error)
        return future

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.complete(work)


def _copied(registry: Registry) -> Registry:
    """What is declared in the block is gone with it."""
    own = Registry()
    vars(own).update({name: copy(value) for name, value in vars(registry).items()})
    return own


def _instant(given: datetime | str) -> datetime:
    try:
        instant: object = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        instant = None
    if not isinstance(instant, datetime):
        hint = 'such as "2026-01-31T23:00:00+01:00"'
        raise InvalidScheduleError("instant", given, "cannot be read", hint=hint)
    if instant.tzinfo is None:
        raise NaiveInstantError(given)
    return instant.astimezone(UTC)


def _duration(by: timedelta | str, parts: Span) -> timedelta:
    whole = parse_duration(by) if isinstance(by, str) else by
    return whole + timedelta(**parts)


async def _nothing_to_wait_for() -> None:
    pass


def _nothing() -> None:
    pass
