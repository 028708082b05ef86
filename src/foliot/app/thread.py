"""An event loop on its own thread, for the engine: a program that blocks its own loop loses no lease."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from foliot.errors import AppStateError
from foliot.observability.log import tell

T = TypeVar("T")

STARTED_BEFORE_FORK = "it was started, or its store was opened, before this process was forked"
START_AFTER_FORK = "start it after the fork, in each process; close() before a fork lets go of the store"


class LoopThread:
    """A loop that runs until it is closed. A daemon thread: it never delays the end of the process."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._is_closing = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            while not self._is_closing:
                self._turn()
        finally:
            self.loop.close()

    def _turn(self) -> None:
        """Run the loop until it is stopped, or until a callback or a task calls `sys.exit`.

        `sys.exit` would end the loop. Here it must end only its caller, because others wait for this thread.
        """
        try:
            self.loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as error:
            tell("task_failed", error, task=self._thread.name, error=type(error).__name__)

    @property
    def is_current(self) -> bool:
        """Whether the caller is on this thread."""
        return threading.current_thread() is self._thread

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine there. Any thread may wait for the result."""
        if self._process != os.getpid():  # no thread survives a fork: the wait would never end
            work.close()
            raise AppStateError(self._thread.name, STARTED_BEFORE_FORK, hint=START_AFTER_FORK)
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there, and await the result here."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """End the loop and its thread; running tasks are cancelled first."""
        if self._thread.is_alive():
            self.submit(self._cancel_all()).result()
            self.loop.call_soon_threadsafe(self._stop)
            if not self.is_current:
                self._thread.join()

    def _stop(self) -> None:
        self._is_closing = True
        self.loop.stop()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class EngineThread:
    """The engine's thread of an application: it starts when needed, and ends after its last use.

    `release` closes what is open on it.
    """

    def __init__(self, app: str, release: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._app = app
        self._release = release
        self._thread: LoopThread | None = None
        self._process = 0  # that has started the thread
        self._lock = threading.Lock()
        self._calls = 0  # that use the thread
        self._is_left = False  # whether the thread is to end with the last of them

    @property
    def is_open(self) -> bool:
        """Whether there is a thread."""
        return self._thread is not None

    @property
    def is_current(self) -> bool:
        """Whether the caller is on this thread."""
        return self._thread is not None and self._thread.is_current

    @property
    def is_running_here(self) -> bool:
        """Whether the calling coroutine runs on it."""
        return self._thread is not None and asyncio.get_running_loop() is self._thread.loop

    def refuse_if_forked(self) -> None:
        """Raise an error in a forked process, where the thread is missing: a wait would never end."""
        if self._thread is not None and self._process != os.getpid():
            raise AppStateError(self._app, STARTED_BEFORE_FORK, hint=START_AFTER_FORK)

    def get(self) -> LoopThread:
        """The thread; it is started if there is none."""
        self.refuse_if_forked()
        if self._thread is None:
            self._thread, self._process = LoopThread(f"foliot-{self._app}"), os.getpid()
        return self._thread

    @contextmanager
    def held(self) -> Iterator[LoopThread]:
        """The thread; it does not end inside this block."""
        self.refuse_if_forked()
        with self._lock:
            thread = self.get()
            self._calls += 1
        try:
            yield thread
        finally:
            with self._lock:
                self._calls -= 1
            if self._is_left:
                self.leave()

    def stay(self) -> None:
        """The application runs: keep the thread."""
        self._is_left = False

    def leave(self) -> None:
        """The application has ended: end the thread now, or after its last call."""
        self.refuse_if_forked()
        with self._lock:
            self._is_left = bool(self._calls)
            if not self._calls:
                self._close()

    def close(self) -> None:
        """End the thread, even if it is used."""
        self.refuse_if_forked()
        with self._lock:
            self._close()

    def _close(self) -> None:
        thread, self._thread, self._is_left = self._thread, None, False
        if thread is not None:
            thread.submit(self._release()).result()
            thread.close()


async def as_coroutine(work: Awaitable[T]) -> T:
    """Any awaitable as a coroutine."""
    return await work


@contextmanager
def closing_if_refused(work: Awaitable[object]) -> Iterator[None]:
    """Close a coroutine that is refused, so that Python does not warn about it."""
    try:
        yield
    except AppStateError:
        if inspect.iscoroutine(work):
            work.close()
        raise
