"""The door's one action: take the schedule's lock, put its job into the queue, write its state.

    runs ─▶ lock and state, 100 at a time ─▶ queue, each by itself ─▶ state and release, 100 at a time

The engine has claimed each run, so no other node enqueues it; a lock that another program holds only delays
it. What fails is an attempt that failed, and the policy has it tried again. A job that the queue has taken is
never enqueued again by a node that knows of it: from its own memory, or from `last_job_id`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import compress
from typing import Any, NamedTuple, Protocol, runtime_checkable

from foliot.doors.beat.calling import Call, Called, QueueCalls
from foliot.doors.beat.errors import BeatError
from foliot.doors.beat.log import BeatLog, tell_line
from foliot.doors.beat.queue import Queue
from foliot.doors.beat.state import Enqueued, Keys, read_last_job_id, token_of
from foliot.doors.beat.translation import queue_job
from foliot.errors import FoliotError, StoreError, StoreUnavailableError
from foliot.executors.place import ExecutorPlace
from foliot.model.attempt import Outcome
from foliot.protocols import AskToEnd, JobView, OnEnd, OnEnds, Result, Run
from foliot.schedules import Schedule as Rule
from foliot.stores.redis.link import Link
from foliot.stores.redis.wire import Answer

_AT_ONCE = 100
_LOGIN = re.compile(r"(://)[^\s/@]*:[^\s@]*@")
_DONE = Result(Outcome.SUCCEEDED)
_CANCELLED = Result(Outcome.CANCELLED)
_LOCKED = Result(Outcome.FAILED, "the schedule is locked by another instance")


class Try(NamedTuple):
    """One try to enqueue. `took`: how long the queue took; None: it was not asked."""

    queue: str
    schedule: str
    took: timedelta | None


@runtime_checkable
class EnqueueWatcher(Protocol):
    """Is told of each try to enqueue: metrics."""

    def on_job_enqueued(self, done: Try, at: datetime, next_run: datetime | None) -> None:
        """The queue has taken a job."""
        ...

    def on_job_failed(self, failed: Try, reason: str) -> None:
        """It has not: `refused`, `timeout`; or `lock`, `state`, and then the queue was not asked."""
        ...

    def on_schedules(self, views: Sequence[JobView]) -> None:
        """The schedules as the store has them, at the start and by each heartbeat."""
        ...


class Desk(NamedTuple):
    """What the action works with."""

    queue: Queue
    keys: Keys
    link: Link
    interval: timedelta
    watcher: EnqueueWatcher | None

    def try_of(self, schedule: str, took: timedelta | None) -> Try:
        """A try, as it is told."""
        return Try(type(self.queue).__name__, schedule, took)


class _Errand(Call):
    """One run on its way."""

    __slots__ = ("_began_at", "fired_at", "is_asked", "next_run", "on_ends", "run", "schedule", "token")

    def __init__(self, run: Run, on_ends: OnEnds, now: datetime, began_at: float) -> None:
        self.fired_at = run.claimed_at or now
        super().__init__(queue_job(run, self.fired_at))
        self._began_at = began_at
        self.on_ends = on_ends
        self.run = run
        self.schedule = run.name
        self.next_run = _next_after(run.schedule, self.fired_at)
        self.token = token_of(*run.key)
        self.is_asked = False

    def ask_to_end(self) -> None:
        self.is_asked = True
        self.cancel()

    def end(self, result: Result) -> None:
        self.on_ends([(self.run, result)])

    def enqueued(self, at: float) -> Enqueued:
        """The state after it was enqueued, just now by the store's time."""
        took = timedelta(seconds=at - self._began_at)
        return Enqueued(self.job.id, self.fired_at, self.fired_at + took, self.next_run)


class BeatExecutor:
    """Carries out the action `beat:enqueue`, for many runs at a time."""

    def __init__(self, place: ExecutorPlace, desk: Desk) -> None:
        self._desk = desk
        self._clock = place.clock
        self._calls = QueueCalls(desk.queue, place.jobs_loop, place.clock, self._on_called)
        self._log = BeatLog()
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself would let go of them
        self._enqueued: dict[str, str] = {}  # the last job that each schedule has enqueued here

    async def close(self) -> None:
        """Stop what still waits for Redis: the engine has ended."""
        for task in self._tasks:
            task.cancel()

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        """Enqueue one."""

        def on_ends(ends: Iterable[tuple[Run, Result]]) -> None:
            for ended, result in ends:
                on_end(ended, result)

        (ask,) = self.start_many((run,), on_ends)
        return ask

    def start_many(self, runs: Sequence[Run], on_ends: OnEnds) -> Sequence[AskToEnd]:
        """Enqueue many."""
        errands, asks = list[_Errand](), list[AskToEnd]()
        now, began_at = self._clock.now(), self._clock.monotonic()
        for run in runs:
            try:
                errand = _Errand(run, on_ends, now, began_at)
            except Exception as error:  # noqa: BLE001 - what is stored was changed by hand: that run fails alone
                broken = Result(Outcome.FAILED, f"{type(error).__name__}: {error}", is_final=True)
                asyncio.get_running_loop().call_soon(on_ends, [(run, broken)])
                asks.append(_nothing)
            else:
                errands.append(errand)
                asks.append(errand.ask_to_end)
        for some in _portions(errands):
            self._do(self._begin(some))
        return asks

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- before the queue is called ----------------------------------------------------------------

    async def _begin(self, errands: Sequence[_Errand]) -> None:
        """Take the locks and read the states; call the queue for those that have both."""
        commands = [
            self._desk.keys.begin(errand.schedule, errand.token, errand.run.key) for errand in errands
        ]
        try:
            answers = await self._desk.link.ask("lock", [one for some in commands for one in some])
        except StoreError as error:
            for errand in errands:
                self._lock_failed(errand, error)
            return
        place, ready, done = 0, list[_Errand](), list[_Errand]()
        for errand, some in zip(errands, commands, strict=True):
            place += len(some)
            last_job_id = self._opened(errand, *answers[place - 2 : place])
            if last_job_id is not None:
                known = (last_job_id, self._enqueued.get(errand.schedule))
                (done if errand.job.id in known else ready).append(errand)
        if ready:
            self._calls.make(ready)
        if done:
            await self._settle(done)

    def _opened(self, errand: _Errand, lock: Answer, state: Answer) -> str | None:
        """The id of the job that was enqueued last, if the lock was taken and the state can be read."""
        if isinstance(lock, StoreError):
            self._lock_failed(errand, lock)
        elif lock is None:
            tell_line("schedule_locked", schedule_id=errand.schedule)
            errand.end(_LOCKED)
        elif errand.is_asked:
            self._do(self._release(errand, _CANCELLED))
        else:
            try:
                return read_last_job_id(state)
            except BeatError as error:
                self._failed(errand, "state_unreadable", "state", error)
                self._do(self._release(errand, _failure(error)))
        return None

    def _lock_failed(self, errand: _Errand, error: StoreError) -> None:
        self._failed(errand, "lock_failed", "lock", error)
        errand.end(Result(Outcome.FAILED, f"failed to acquire lock: {error}"))

    async def _release(self, errand: _Errand, result: Result) -> None:
        with suppress(StoreError):  # it expires, or the next try of the same run releases it
            await self._desk.link.ask("lock", [self._desk.keys.release(errand.schedule, errand.token)])
        errand.end(result)

    # -- after the queue was called ----------------------------------------------------------------

    def _on_called(self, called: Sequence[Called[_Errand]]) -> None:
        at, watcher = self._clock.now(), self._desk.watcher
        for errand, error, took in called:
            if error is None:
                self._enqueued[errand.schedule] = errand.job.id
                self._log.enqueued(errand.schedule, errand.job, errand.next_run, at)
                if watcher is not None:
                    done = self._desk.try_of(errand.schedule, took)
                    watcher.on_job_enqueued(done, errand.fired_at, errand.next_run)
            elif errand.is_asked and isinstance(error, asyncio.CancelledError):
                self._do(self._release(errand, _CANCELLED))
            else:
                self._failed(errand, "enqueue_failed", _reason(error), error, took)
                self._do(self._write_error(errand, error))
        for some in _portions([one.call for one in called if one.error is None]):
            self._do(self._settle(some))

    def _failed(
        self, errand: _Errand, line: str, reason: str, error: BaseException, took: timedelta | None = None
    ) -> None:
        told = str(error) if isinstance(error, FoliotError) else _words(error)
        self._log.failed(line, errand.schedule, told, self._clock.now(), job_name=errand.job.name)
        if self._desk.watcher is not None:
            self._desk.watcher.on_job_failed(self._desk.try_of(errand.schedule, took), reason)

    async def _write_error(self, errand: _Errand, error: BaseException) -> None:
        failure = _failure(error)
        command = self._desk.keys.write_error(errand.schedule, errand.token, failure.error or "")
        with suppress(StoreError):  # as for `_release`
            await self._desk.link.ask("state", [command])
        errand.end(failure)

    async def _settle(self, errands: Sequence[_Errand]) -> None:
        """Write the states of what was enqueued. While Redis is away the runs stay open: none is repeated."""
        keys, left, at = self._desk.keys, errands, self._clock.monotonic()
        commands = [keys.write(errand.schedule, errand.token, errand.enqueued(at)) for errand in left]
        while True:
            try:
                answers = await self._desk.link.ask("state", commands)
            except StoreUnavailableError as error:
                answers = [error] * len(left)
            away = [isinstance(one, StoreUnavailableError) for one in answers]
            self._settled(
                (errand, answer)
                for errand, answer, is_away in zip(left, answers, away, strict=True)
                if not is_away or errand.is_asked
            )
            again = [is_away and not errand.is_asked for errand, is_away in zip(left, away, strict=True)]
            left, commands = list(compress(left, again)), list(compress(commands, again))
            if not left:
                return
            await self._clock.wait(self._desk.interval)

    def _settled(self, answered: Iterable[tuple[_Errand, Answer]]) -> None:
        ended: dict[OnEnds, list[tuple[Run, Result]]] = {}
        for errand, answer in answered:
            if isinstance(answer, StoreError):
                tell_line("state_unwritten", schedule_id=errand.schedule, error=str(answer))
                self._do(self._release(errand, _DONE))
            else:
                ended.setdefault(errand.on_ends, []).append((errand.run, _DONE))
        for on_ends, ends in ended.items():
            on_ends(ends)


def _portions(errands: Sequence[_Errand]) -> Iterator[Sequence[_Errand]]:
    for first in range(0, len(errands), _AT_ONCE):
        yield errands[first : first + _AT_ONCE]


@lru_cache(maxsize=1024)  # schedules with one rule fire together
def _next_after(rule: Rule, instant: datetime) -> datetime | None:
    return rule.next_after(instant)


def _reason(error: BaseException) -> str:
    """Whether the queue has refused, or it is unknown whether it has the job."""
    is_late = isinstance(error, TimeoutError) or getattr(error, "label", "") == "timeout"
    return "timeout" if is_late else "refused"


def _failure(error: BaseException) -> Result:
    return Result(Outcome.FAILED, _words(error))


def _words(error: BaseException) -> str:
    """An error of the queue's; a broker's URL may stand in it, with its password."""
    return _LOGIN.sub(r"\1…@", f"{type(error).__name__}: {error}")


def _nothing() -> None:
    """It has ended already."""
