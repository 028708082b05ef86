"""The loop: wait, lock the next job, process it or be idle; one job at a time.

    next_delay ─▶ lock_next ─┬─ none ─▶ on_idle, once per idle phase ─▶ idle_delay
                             └─ job ──▶ on_document ─▶ plan ─▶ settle

A job that was locked is processed, or given back if the loop is to stop. An error of the handler leaves the
job locked: it runs again when its lock ends. A store that is away is told to `on_error`, and waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple, TypeVar

from foliot.doors.documents.config import Config, checked_store
from foliot.doors.documents.errors import LockLostError
from foliot.doors.documents.handlers import Handlers, to_the_end
from foliot.doors.documents.job import (
    FencedStore,
    JobStore,
    JobUpdate,
    Settled,
    TimedStore,
    floor_ms,
    milliseconds,
)
from foliot.doors.documents.keeper import Keeper, Pause, why_lost
from foliot.doors.documents.plan import Rules, after_run
from foliot.errors import JobNotFoundError, StoreUnavailableError
from foliot.protocols import Clock

_AWAY = (StoreUnavailableError, OSError)  # OSError: also TimeoutError and ConnectionError
_SHORTEST_IDLE, _LONGEST_IDLE = timedelta(milliseconds=1), timedelta(milliseconds=50)
_TIME_TO_CANCEL = 5.0  # seconds that a handler has to end when it is cancelled
T = TypeVar("T")


@dataclass(slots=True)
class Status:
    """What the loop does now."""

    is_processing: bool = False
    is_idle: bool = False


class Delays(NamedTuple):
    """The durations of a config."""

    next: timedelta
    idle: timedelta
    lock: timedelta


class Loop:
    """One worker on a store. It is run once; the next start makes another."""

    def __init__(
        self, config: Config, delays: Delays, rules: Rules, clock: Clock, handlers: Handlers
    ) -> None:
        self.status = Status()
        self.stopping = asyncio.Event()
        self._delays = delays
        self._rules = rules
        self._clock = clock
        self._handlers = handlers
        self._store: JobStore = checked_store(config.store)
        self._fenced = self._store if isinstance(self._store, FencedStore) else None
        self._timed = self._store if isinstance(self._store, TimedStore) else None
        self._renewed = self._fenced if config.renews else None
        self._away = Pause(clock)
        self._idle = Pause(clock, _SHORTEST_IDLE, _LONGEST_IDLE)

    async def run(self) -> None:
        """Turn after turn, until `stopping` is set."""
        while True:
            await self._clock.wait(self._delays.next, self.stopping)
            if self.stopping.is_set():
                return
            try:
                keeper = await self._lock()
            except Exception as error:  # noqa: BLE001 - a store's error, of whatever kind
                await self._handlers.tell_once(error)
                await self._away.wait(self.stopping)
                continue
            self._away.reset()
            self._handlers.forget()
            await (self._be_idle() if keeper is None else self._process(keeper))

    # -- its steps ---------------------------------------------------------------------------------

    async def _lock(self) -> Keeper | None:
        """Take the next job, or none. What was taken when we are to stop is given back."""
        ends_at = self._clock.monotonic() + self._delays.lock.total_seconds()
        held = floor_ms(await self._now() + self._delays.lock)
        job, is_cancelled = await to_the_end(self._store.lock_next(held))
        keeper = None
        if job is not None:
            job = job if job.token is not None else replace(job, token=milliseconds(held))
            keeper = Keeper(
                self._renewed, job, held, ends_at=ends_at, duration=self._delays.lock,
                clock=self._clock, now=self._now, handlers=self._handlers,
            )  # fmt: skip
        if keeper is not None and (is_cancelled or self.stopping.is_set()):
            await to_the_end(self._write(keeper, JobUpdate(sleep_until=keeper.job.sleep_until)))
            keeper = None
        if is_cancelled:
            raise asyncio.CancelledError
        return keeper

    async def _be_idle(self) -> None:
        if self.stopping.is_set():
            return
        if not self.status.is_idle:
            self.status.is_idle = True
            await self._handlers.idle()
        if self._delays.idle:
            await self._clock.wait(self._delays.idle, self.stopping)
        else:
            await self._idle.wait(self.stopping)

    async def _process(self, keeper: Keeper) -> None:
        self.status.is_idle, self.status.is_processing = False, True
        self._idle.reset()
        try:
            work = asyncio.create_task(self._handlers.document(keeper.job))
            keeper.start(work)
            is_cancelled = await self._wait_for(work, keeper)
            if await self._has_ended_well(work, keeper, is_cancelled=is_cancelled):
                _, is_late = await to_the_end(self._settle(keeper))
                is_cancelled |= is_late
            if is_cancelled:
                raise asyncio.CancelledError
        finally:
            self.status.is_processing = False

    async def _wait_for(self, work: asyncio.Task[None], keeper: Keeper) -> bool:
        """Wait for the handler; whether we were cancelled meanwhile: by `stop`, at its deadline."""
        try:
            await asyncio.wait({work})
            await keeper.close()
        except asyncio.CancelledError:
            keeper.abandon()
            work.cancel()
            await asyncio.wait({work}, timeout=_TIME_TO_CANCEL)
            return True
        return False

    async def _has_ended_well(self, work: asyncio.Task[None], keeper: Keeper, *, is_cancelled: bool) -> bool:
        """Whether the handler has done its work and the job is still ours. If not, tell why."""
        error: BaseException | None = None
        if is_cancelled and (not work.done() or work.cancelled()):
            return False
        if not work.cancelled():
            error = work.exception()
        if error is None and keeper.lost is not None:
            error = LockLostError(keeper.job, keeper.lost)
        if error is None and work.cancelled():
            error = RuntimeError("the handler was cancelled")
        if error is None:
            return True
        if not isinstance(error, Exception):
            raise error
        await self._handlers.tell(error, keeper.job)
        return False

    async def _settle(self, keeper: Keeper) -> None:
        """Write what becomes of the job, for as long as its lock lasts."""
        try:
            outcome = Settled.CHANGED
            while outcome is Settled.CHANGED:
                now = await self._answered(keeper, self._now)
                plan = after_run(keeper.job, now, self._rules)
                for trouble in plan.troubles:
                    await self._handlers.tell(trouble, keeper.job)
                outcome = await self._answered(keeper, partial(self._write, keeper, plan.update))
                if outcome is Settled.CHANGED:
                    await self._answered(keeper, partial(self._read_again, keeper))
            if outcome is Settled.LOST:
                raise LockLostError(keeper.job, await why_lost(keeper, self._fenced))  # noqa: TRY301 - told below
        except Exception as error:  # noqa: BLE001 - a store's error, of whatever kind
            await self._handlers.tell(error, keeper.job)

    # -- the store ---------------------------------------------------------------------------------

    async def _now(self) -> datetime:
        return self._clock.now() if self._timed is None else await self._timed.now()

    async def _write(self, keeper: Keeper, update: JobUpdate | None) -> Settled:
        if self._fenced is not None:
            return await self._fenced.settle(keeper.job, keeper.held, update)
        try:
            if update is None:
                await self._store.remove(keeper.job.id)
            else:
                await self._store.update(keeper.job.id, update)
        except JobNotFoundError:
            return Settled.LOST
        return Settled.DONE

    async def _read_again(self, keeper: Keeper) -> None:
        fresh = None if self._fenced is None else await self._fenced.get(keeper.job.id)
        if fresh is None:
            raise LockLostError(keeper.job, "gone")
        # The time in the store is the lock now; the next one counts from the time that the job had before.
        keeper.job = replace(fresh, sleep_until=keeper.job.sleep_until, token=keeper.job.token)

    async def _answered(self, keeper: Keeper, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask a store until it answers, or until the lock has ended."""
        pause = Pause(self._clock)
        while True:
            try:
                answer = await ask()
            except _AWAY as error:
                await self._handlers.tell_once(error, keeper.job)
                if keeper.is_expired():
                    raise LockLostError(keeper.job, "expired") from error
                await pause.wait()
            else:
                self._handlers.forget()
                return answer
