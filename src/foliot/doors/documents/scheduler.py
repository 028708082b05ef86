"""`Scheduler`: starts the loop, stops it, and tells what it does."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from foliot.clock import SystemClock
from foliot.doors.documents.config import Config, Duration, checked_store, durations, read_duration
from foliot.doors.documents.errors import InvalidConfigError
from foliot.doors.documents.handlers import Handlers
from foliot.doors.documents.loop import Delays, Loop
from foliot.doors.documents.plan import Rules
from foliot.errors import shorten
from foliot.protocols import Clock

_log = logging.getLogger("foliot.documents")
_INSIDE: ContextVar[object] = ContextVar("the scheduler whose handler runs", default=None)


@runtime_checkable
class InspectedStore(Protocol):
    """A store that can tell what is not as it should be. All of ours that have something to tell are such."""

    async def warnings(self) -> list[str]:
        """Sentences for a person, logged when a scheduler starts."""
        ...


class Scheduler:
    """Processes the documents of a store, one after another.

    `async with Scheduler(config):` starts and stops it; `await scheduler.run()` runs it until it is cancelled
    or stopped. Several schedulers, in one process or in many, may work on the same documents.
    """

    def __init__(self, config: Config) -> None:
        if not isinstance(config, Config):
            raise InvalidConfigError("config", f"must be a Config, not {shorten(config)}")
        self._store = checked_store(config.store)
        self._config = config
        self._clock: Clock = config.clock or SystemClock()
        self._handlers = Handlers(config)
        next_delay, reprocess_delay, idle_delay, lock_duration = durations(config)
        self._delays = Delays(next_delay, idle_delay, lock_duration)
        self._rules = Rules(reprocess_delay, config.timezone, config.catch_up)
        self._loop: Loop | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_over = asyncio.Event()

    # -- its life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to work, unless it works already. An error of `on_start` is raised: it does not work then."""
        if self._loop is not None:
            return
        self._is_over = asyncio.Event()  # another event loop may run it each time
        self._loop = loop = Loop(self._config, self._delays, self._rules, self._clock, self._handlers)
        try:
            await self._handlers.start()
            await self._warn()
        except BaseException:
            self._end()
            raise
        self._task = asyncio.create_task(self._work(loop), name="foliot-documents")

    async def stop(self, deadline: Duration | None = None) -> None:
        """Take no further job, and wait for the one that runs; after the deadline it is cancelled.

        A job that was cancelled stays locked, and runs again when its lock ends. Called by a handler, this
        does not wait: the scheduler stops when that handler has ended.
        """
        loop, task, is_over = self._loop, self._task, self._is_over
        if loop is None:
            return
        limit = None if deadline is None else read_duration("deadline", deadline)
        loop.stopping.set()
        if task is None or _INSIDE.get() is self:
            return
        if limit is None:
            await is_over.wait()
            return
        await self._clock.wait(limit, is_over)
        if not is_over.is_set():
            task.cancel()
            await is_over.wait()

    async def run(self) -> None:
        """Work until stopped; if this is cancelled, the job that runs is finished first."""
        await self.start()
        try:
            await self._is_over.wait()
        finally:
            await self.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # -- what it does ------------------------------------------------------------------------------

    def is_running(self) -> bool:
        """Whether it was started, and has not stopped."""
        return self._loop is not None

    def is_processing(self) -> bool:
        """Whether it has a job: from the lock to the last write about it."""
        return self._loop is not None and self._loop.status.is_processing

    def is_idle(self) -> bool:
        """Whether it has looked for a job and found none."""
        return self._loop is not None and self._loop.status.is_idle

    # -- inside ------------------------------------------------------------------------------------

    async def _work(self, loop: Loop) -> None:
        _INSIDE.set(self)
        try:
            await loop.run()
        except asyncio.CancelledError:
            pass  # by `stop`, at its deadline, or because the event loop ends
        except Exception as error:  # noqa: BLE001 - a fault of ours must not pass in silence
            await self._handlers.tell(error)
        finally:
            loop.status.is_idle = False
            await self._handlers.stop()
            self._end()

    def _end(self) -> None:
        self._loop = self._task = None
        self._is_over.set()

    async def _warn(self) -> None:
        if not isinstance(self._store, InspectedStore):
            return
        try:
            for sentence in await self._store.warnings():
                _log.warning(sentence)
        except Exception as error:  # noqa: BLE001 - the loop meets it, too, and goes on when it is over
            await self._handlers.tell_once(error)
