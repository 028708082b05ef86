"""Threads for functions that block: as many as are needed at once, reused, never in the way of an exit."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TypeVar

T = TypeVar("T")
_Work = Callable[[], None]


class ThreadCrew:
    """Daemon threads that take work. Unlike the standard pool's, they do not hold up the process's end."""

    def __init__(self, name: str = "foliot-job", *, patience: float = 10.0) -> None:
        self._name = name
        self._patience = patience  # seconds after which a thread without work goes home
        self._work: deque[_Work] = deque()
        self._changed = threading.Condition()
        self._idle = 0
        self._count = 0

    def do(self, work: _Work) -> None:
        """Have some thread do it, at once. The work must not raise."""
        with self._changed:
            self._work.append(work)
            if self._idle >= len(self._work):
                self._changed.notify()
                return
            self._count += 1
            number = self._count
        threading.Thread(target=self._serve, name=f"{self._name}-{number}", daemon=True).start()

    async def call(self, work: Callable[[], T], limit: timedelta) -> T:
        """Have some thread do it, and wait for it so long at most. Raises what it raises.

        After a TimeoutError the thread goes on, and its end is not reported.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[T] = loop.create_future()
        self.do(partial(_do_for, loop, ended, work))
        async with asyncio.timeout(limit.total_seconds()):
            return await ended

    def _serve(self) -> None:
        while work := self._next():
            work()

    def _next(self) -> _Work | None:
        with self._changed:
            self._idle += 1
            try:
                self._changed.wait_for(lambda: self._work, self._patience)
            finally:
                self._idle -= 1
            return self._work.popleft() if self._work else None


def _do_for(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[T], work: Callable[[], T]) -> None:
    try:
        answer = work()
    except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
        settle = partial(_settle_error, ended, error)
    else:
        settle = partial(_settle, ended, answer)
    with suppress(RuntimeError):  # the loop has ended meanwhile, and nobody waits
        loop.call_soon_threadsafe(settle)


def _settle(ended: asyncio.Future[T], answer: T) -> None:
    if not ended.done():
        ended.set_result(answer)


def _settle_error(ended: asyncio.Future[T], error: BaseException) -> None:
    if not ended.done():
        ended.set_exception(error)
