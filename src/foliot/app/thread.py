"""An event loop on a thread of its own, for the engine: a program that blocks its loop costs no lease."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from foliot.observability.log import tell

T = TypeVar("T")


class LoopThread:
    """A loop that runs until it is closed. Daemon: it never holds up the end of the process."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._is_closing = False
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

        `sys.exit` ends a loop, but here it must end only what has called it: others wait for this thread.
        """
        try:
            self.loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as error:
            tell("task_failed", error, task=self._thread.name, error=type(error).__name__)

    @property
    def is_current(self) -> bool:
        """Whether whoever asks is on it."""
        return threading.current_thread() is self._thread

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Have it run there; the answer can be waited for from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Have it run there, and wait for it here."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """End the loop and its thread; what still runs on it is cancelled first."""
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
