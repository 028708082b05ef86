"""The event loop of a stepped application: its time is virtual, and stands still between steps.

It runs inside whoever steps it, in the same thread: inside a plain test, or, for as long as a step lasts,
in place of the loop that an asynchronous test runs on. What would be done in a thread is done at once.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from heapq import heapify, heappop
from math import inf
from typing import Any, TypeVar

from foliot.errors import AppStateError
from foliot.testing.virtual_loop import SimulationStuckError, VirtualLoop

T = TypeVar("T")

_log = logging.getLogger("foliot")
_ROUNDING = 1e-7  # seconds: sums of floats miss an instant by less, and no two instants are that close
_FEW = 100


class StepLoop(VirtualLoop):
    """A loop that runs as far as it is told."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._cancelled_timers = 0
        self._lock = threading.RLock()  # a test client may serve its requests in a thread
        self._alarm: BaseException | None = None

    # -- stepping ----------------------------------------------------------------------------------

    def run_to(self, seconds: float) -> None:
        """Let everything happen that happens up to this time, and at it."""
        with self._at_work():
            self._turn_until_alarm()
            while self._take_timer(seconds + _ROUNDING):
                self._turn_until_alarm()
            self._now = max(self._now, seconds)

    def complete(self, work: Coroutine[Any, Any, T]) -> T:
        """Run until this is done, and whatever else can go on at that time."""
        with self._at_work():
            task: asyncio.Task[T] = self.create_task(work)
            self._turn()
            while not task.done():
                if not self._take_timer(inf):
                    raise SimulationStuckError
                self._turn()
        return task.result()

    def end_all(self) -> None:
        """Cancel whatever still runs, and wait for it."""
        tasks = asyncio.all_tasks(self)
        for task in tasks:
            task.cancel()
        self.complete(_gone(tasks))

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """The running loop of this thread, in place of the one that runs there, if one does."""
        with self._lock, aside():
            asyncio._set_running_loop(self)  # noqa: SLF001 - public by its documentation, for loops
            hooks = sys.get_asyncgen_hooks()
            sys.set_asyncgen_hooks(firstiter=None, finalizer=self._close_generator)
            try:
                yield
            finally:
                sys.set_asyncgen_hooks(*hooks)
                asyncio._set_running_loop(None)  # noqa: SLF001 - as above

    def _turn(self) -> None:
        """Run what is ready, until nothing is."""
        while self._ready:
            self._run_one()

    def _turn_until_alarm(self) -> None:
        while self._ready and self._alarm is None:
            self._run_one()
        self.raise_alarm()

    def _run_one(self) -> None:
        handle = self._ready.popleft()
        if not handle.cancelled():
            handle._run()  # noqa: SLF001 - what a loop is there for

    def give_alarm(self, error: BaseException) -> None:
        """Have the step end here, or the next one before it begins, and raise this."""
        if self._alarm is None:
            self._alarm = error

    def raise_alarm(self) -> None:
        """Raise what is to be raised, if anything is."""
        if self._alarm is not None:
            alarm, self._alarm = self._alarm, None
            raise alarm

    def _take_timer(self, until: float) -> bool:
        """Go on to the next timer, unless it is later than that."""
        while self._timers and self._timers[0][0] <= until:
            when, _, timer = heappop(self._timers)
            timer._scheduled = False  # type: ignore[attr-defined] # noqa: SLF001 - for loops, as asyncio's own has it
            if not timer.cancelled():
                self._now = max(self._now, when)
                self._ready.append(timer)
                return True
            self._cancelled_timers -= 1
        return False

    # -- what a loop has ---------------------------------------------------------------------------

    def call_at(  # type: ignore[override] # callbacks are not told apart by their arguments here
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        timer = super().call_at(when, callback, *args, context=context)
        timer._scheduled = True  # type: ignore[attr-defined] # noqa: SLF001 - as above
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Throw cancelled timers away once they are many: in a year of runs there are."""
        if handle._scheduled:  # type: ignore[attr-defined] # noqa: SLF001 - as above
            self._cancelled_timers += 1
        if self._cancelled_timers > max(_FEW, len(self._timers) // 2):
            self._timers = [entry for entry in self._timers if not entry[2].cancelled()]
            heapify(self._timers)
            self._cancelled_timers = 0

    def call_soon_threadsafe(  # type: ignore[override] # as above
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(  # type: ignore[override] # as above
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Do it at once: a thread would take a time that is different in each test."""
        del executor
        future = self.create_future()
        try:
            with aside():
                future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - handed to whom it belongs
            future.set_exception(error)
        return future

    def is_running(self) -> bool:
        return asyncio._get_running_loop() is self  # noqa: SLF001 - public by its documentation

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        _log.error("%s: %s", self._name, context.get("message"), exc_info=context.get("exception"))

    def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        self.call_soon(self.create_task, generator.aclose())

    def refuse(self, what: str) -> None:
        """Say that there are no sockets and no processes here."""
        raise AppStateError(
            self._name,
            f"a stepped application has no {what}: in virtual time nothing answers",
            hint="give the job a stand-in for what it talks to, or ask from a plain function",
        )


@contextmanager
def aside() -> Iterator[None]:
    """As in a thread of its own: no loop runs here, and no task."""
    loop = asyncio._get_running_loop()  # noqa: SLF001 - public by its documentation, for loops
    task = None if loop is None else asyncio.current_task(loop)
    if loop is not None and task is not None:
        asyncio.tasks._leave_task(loop, task)  # noqa: SLF001 - as above
    asyncio._set_running_loop(None)  # noqa: SLF001 - as above
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)  # noqa: SLF001 - as above
        if loop is not None and task is not None:
            asyncio.tasks._enter_task(loop, task)  # noqa: SLF001 - as above


def at_once(work: Callable[[], None]) -> None:
    """Do what a thread would do, here and now."""
    with aside():
        copy_context().run(work)


async def _gone(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def _refusal(name: str) -> Callable[..., None]:
    def refuse(self: StepLoop, *_: object, **__: object) -> None:
        self.refuse(name)

    return refuse


for _name in (
    "add_reader", "add_writer", "connect_accepted_socket", "connect_read_pipe", "connect_write_pipe",
    "create_connection", "create_datagram_endpoint", "create_server", "create_unix_connection",
    "create_unix_server", "getaddrinfo", "getnameinfo", "sock_accept", "sock_connect", "sock_recv",
    "sock_recv_into", "sock_sendall", "subprocess_exec", "subprocess_shell",
):  # fmt: skip
    setattr(StepLoop, _name, _refusal(_name))
