"""An event loop whose time is virtual: it jumps to the next timer instead of waiting for it.

One thread, no I/O, timers in the order of their times and then of their making: the same program gives
the same history, and a month takes less than a second. It has what tasks, futures, locks, events and timeouts
need and nothing else; a program that asks it for a socket or a thread fails, as it should.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeVar

from foliot.errors import FoliotError

T = TypeVar("T")


class SimulationStuckError(FoliotError):
    """No task is ready and no timer is set: all tasks wait for each other."""

    def __init__(self) -> None:
        super().__init__("the simulation is stuck: no task can go on, and no timer is set")


class VirtualLoop(asyncio.AbstractEventLoop):
    """A loop that never waits."""

    def __init__(self) -> None:
        self._now = 0.0
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = count()
        self._make_task: Callable[..., asyncio.Task[Any]] = _make_task

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_closed(self) -> bool:
        return False

    def call_soon(  # type: ignore[override] # callbacks are not told apart by their arguments here
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment] # there is one thread

    def call_later(  # type: ignore[override] # as above
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override] # as above
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._order), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Asked for by asyncio's handles. Nothing to do: its turn will find it cancelled."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        return self._make_task(self, coro, **options)

    def set_task_factory(self, factory: Any) -> None:
        self._make_task = factory or _make_task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """What dies with a killed process is expected; what matters is what the history shows."""

    def run_until_complete(self, future: Any) -> Any:
        asyncio._set_running_loop(self)  # noqa: SLF001 - public by its documentation, for loops
        try:
            task = asyncio.ensure_future(future, loop=self)
            self._turn()
            while not task.done():
                self._jump()
                self._turn()
            return task.result()
        finally:
            asyncio._set_running_loop(None)  # noqa: SLF001 - as above

    def _turn(self) -> None:
        """Run what is ready, until nothing is."""
        ready = self._ready
        while ready:
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()  # noqa: SLF001 - what a loop is there for

    def _jump(self) -> None:
        """Nothing is ready: it is the time of the next timer."""
        while self._timers:
            when, _, timer = heappop(self._timers)
            if not timer.cancelled():
                self._now = max(self._now, when)
                self._ready.append(timer)
                return
        raise SimulationStuckError


def _make_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
    return asyncio.Task(coroutine, loop=loop, **options)


class ExactLoop(VirtualLoop):
    """A virtual loop that counts whole microseconds: two ways to the same instant lead to the same number."""

    def call_at(  # type: ignore[override] # as above
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return super().call_at(round(when, 6), callback, *args, context=context)


def run_virtually(main: Coroutine[Any, Any, T], loop: VirtualLoop | None = None) -> T:
    """Run a coroutine to its end on a virtual loop, and clean up."""
    loop = loop or VirtualLoop()  # type: ignore[abstract] # what it lacks is for I/O, and is to fail
    answer: T
    try:
        answer = loop.run_until_complete(main)
    finally:
        leftovers = asyncio.all_tasks(loop)
        for task in leftovers:
            task.cancel()
        loop.run_until_complete(_gone(leftovers))
    return answer


async def _gone(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
