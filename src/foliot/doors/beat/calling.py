"""How a queue is called: an `async` method on the program's loop, a plain one in threads.

Threads take calls from one line. A thread that takes one while others wait has one more thread begin: quick
calls need few threads, and calls that hang delay no others.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from foliot.doors.beat.queue import Job, Queue
from foliot.executors.threads import ThreadCrew
from foliot.protocols import Clock


class Call:
    """One job on its way into the queue."""

    __slots__ = ("_cancel", "job")

    def __init__(self, job: Job) -> None:
        self.job = job
        self._cancel: Callable[[], object] | None = None

    def cancel(self) -> None:
        """Stop a coroutine that is under way. A plain function cannot be stopped."""
        if self._cancel is not None:
            with suppress(RuntimeError):  # the program's loop has ended
                self._cancel()

    def can_be_cancelled_by(self, cancel: Callable[[], object]) -> None:
        """This is how."""
        self._cancel = cancel


SomeCall = TypeVar("SomeCall", bound=Call)


class Called(NamedTuple, Generic[SomeCall]):
    """How a call ended: with an error, or well."""

    call: SomeCall
    error: BaseException | None
    took: timedelta


class QueueCalls(Generic[SomeCall]):
    """Calls a queue. `on_called` is told on the engine's loop, of all that ended meanwhile."""

    def __init__(
        self,
        queue: Queue,
        jobs_loop: asyncio.AbstractEventLoop,
        clock: Clock,
        on_called: Callable[[Sequence[Called[SomeCall]]], None],
    ) -> None:
        self._queue = queue
        self._jobs_loop = jobs_loop
        self._engine_loop = asyncio.get_running_loop()
        self._clock = clock
        self._on_called = on_called
        self._is_async = inspect.iscoroutinefunction(queue.enqueue)
        self._crew = ThreadCrew("foliot-enqueue")
        self._waiting: deque[SomeCall] = deque()
        self._is_growing = False
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself would let go of them
        self._beginning = 0  # portions of calls that have not taken their first step
        self._ended: list[Called[SomeCall]] = []
        self._lock = threading.Lock()  # of what has ended: threads and both loops write it

    def make(self, calls: Sequence[SomeCall]) -> None:
        """Begin calls, on the engine's loop."""
        if not self._is_async:
            self._waiting.extend(calls)
            self._crew.do(self._serve)
            return
        try:
            self._jobs_loop.call_soon_threadsafe(self._begin, calls)
        except RuntimeError as error:  # the program's loop has ended before the engine
            for call in calls:
                self._note(call, error, self._clock.monotonic())
            self._wake()

    # -- on the program's loop ---------------------------------------------------------------------

    def _begin(self, calls: Sequence[SomeCall]) -> None:
        loop, tasks = self._jobs_loop, self._tasks
        self._beginning += 1
        for call in calls:
            task = loop.create_task(self._await(call))
            call.can_be_cancelled_by(partial(loop.call_soon_threadsafe, task.cancel))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        # All these tasks take their first step before this is called; many end with that step.
        loop.call_soon(self._end_of_beginning)

    def _end_of_beginning(self) -> None:
        """Tell of all calls that took one step: the engine's thread wakes once, and not meanwhile."""
        self._beginning -= 1
        if self._ended:
            self._wake()

    async def _await(self, call: SomeCall) -> None:
        began_at = self._clock.monotonic()
        try:
            answer = self._queue.enqueue(call.job)
            if answer is not None:
                await answer
        except BaseException as error:  # noqa: BLE001 - whatever a queue raises is the failure of this call
            self._note(call, error, began_at)
        else:
            self._note(call, None, began_at)

    # -- in a thread -------------------------------------------------------------------------------

    def _serve(self) -> None:
        self._is_growing = False
        while self._waiting:
            try:
                call = self._waiting.popleft()
            except IndexError:
                return
            if self._waiting and not self._is_growing:
                self._is_growing = True
                self._crew.do(self._serve)
            self._call(call)

    def _call(self, call: SomeCall) -> None:
        began_at = self._clock.monotonic()
        try:
            answer = self._queue.enqueue(call.job)
            if inspect.isawaitable(answer):  # a plain method that gives back a coroutine
                asyncio.run_coroutine_threadsafe(_awaited(answer), self._jobs_loop).result()
        except BaseException as error:  # noqa: BLE001 - as above
            self._note(call, error, began_at)
        else:
            self._note(call, None, began_at)

    def _note(self, call: SomeCall, error: BaseException | None, began_at: float) -> None:
        """Tell the engine's loop, once for all that end before it looks."""
        took = timedelta(seconds=self._clock.monotonic() - began_at)
        with self._lock:
            self._ended.append(Called(call, error, took))
            is_first = len(self._ended) == 1
        if is_first and not self._beginning:
            self._wake()

    def _wake(self) -> None:
        if not self._engine_loop.is_closed():
            self._engine_loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            ended, self._ended = self._ended, []
        if ended:
            self._on_called(ended)


async def _awaited(answer: Awaitable[None]) -> None:
    await answer
