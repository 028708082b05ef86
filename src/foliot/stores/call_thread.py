"""Threads that carry out calls of event loops. Every caller gets an answer, even if the thread dies.

The caller gets a future, and the thread settles it. A future that is never settled would wait for ever. So:

- an error in a call ends the call, not the thread;
- a thread that ends anyway answers all waiting callers;
- a call to a missing thread is refused: the store is not open, the thread has ended, the process was forked,
or
  the interpreter is shutting down.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from foliot.errors import StoreError, StoreUnavailableError


class Call:
    """Work, and the future of its caller."""

    __slots__ = ("future", "loop", "verb", "work")

    def __init__(self, verb: str, work: Callable[[Any], Any]) -> None:
        self.verb = verb
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def settle(self, answer: Any, error: BaseException | None = None) -> None:
        """Answer, from any thread. The first answer counts."""
        with suppress(RuntimeError):  # the loop is closed, so no caller waits any more
            self.loop.call_soon_threadsafe(self._settle, answer, error)

    def _settle(self, answer: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if isinstance(error, StopIteration | asyncio.CancelledError):  # a future cannot carry these
            error = RuntimeError(f"{self.verb}: {type(error).__name__}: {error}")
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(answer)


SomeCall = TypeVar("SomeCall", bound=Call)


class CallThread(ABC, threading.Thread, Generic[SomeCall]):
    """A thread that event loops call."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._calls: SimpleQueue[SomeCall | None] = SimpleQueue()
        self._under_way: Sequence[SomeCall] = ()
        self._process = 0
        self._is_closed = False
        self._is_over = False
        self._cause: BaseException | None = None  # why the thread ended unexpectedly

    @abstractmethod
    def _work(self) -> None:
        """Carry out calls until None comes. If the thread dies, the calls in `_under_way` get an error."""

    @abstractmethod
    def _let_go(self) -> None:
        """Close what the thread has opened."""

    # -- on the event loop -------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to work; StoreUnavailableError if there can be no more threads now."""
        self._process = os.getpid()
        try:
            super().start()
        except RuntimeError as error:
            raise StoreUnavailableError("open", str(error)) from error

    def check(self, verb: str) -> None:
        """Raise StoreError if no thread would answer."""
        if self._is_over and self._cause is not None:
            raise self._refusal(verb)
        if self._is_closed:
            raise StoreError(f"{verb}: the store is not open", hint="use `async with`, or open it first")
        if self.ident is not None and self._process != os.getpid():
            raise StoreError(
                f"{verb}: the store was opened before a fork, and its threads are those of the parent",
                details={"verb": verb, "opened_in": self._process, "process": os.getpid()},
                hint="open another store in the child; or fork first, and open then",
            )
        if sys.is_finalizing():
            raise StoreError(f"{verb}: the interpreter ends", hint="close the store before")

    def put(self, call: SomeCall) -> None:
        """Add a call."""
        self._calls.put(call)
        if self._is_over:  # the thread ended after the check, and may not have seen this call
            self._refuse_waiting()

    def close(self) -> None:
        """Accept no more calls; waiting ones are still carried out."""
        self._is_closed = True
        self._calls.put(None)

    # -- in the thread -----------------------------------------------------------------------------

    def run(self) -> None:
        """Work until closed."""
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - the caller gets the error
            self._cause = error
        self._is_over = True
        with suppress(Exception):
            self._let_go()
        for call in self._under_way:
            call.settle(None, self._refusal(call.verb))
        self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        with suppress(Empty):
            while True:
                call = self._calls.get_nowait()
                if call is not None:
                    call.settle(None, self._refusal(call.verb))

    def _refusal(self, verb: str) -> StoreError:
        if self._cause is None:
            return StoreError(f"{verb}: the store was closed")
        reason = f"{type(self._cause).__name__}: {self._cause}"
        refusal = StoreError(
            f"{verb}: a thread of the store has ended by {reason}",
            details={"verb": verb, "reason": reason},
            hint="close this store, and open another",
        )
        refusal.__cause__ = self._cause
        return refusal


def unwritable(verb: str, error: UnicodeEncodeError) -> StoreError:
    """The error for a text that no store can keep."""
    character = ascii(error.object[error.start : error.start + 1])
    return StoreError(
        f"{verb}: a text holds {character}, which is no character",
        details={"verb": verb, "character": character},
        hint="names and texts are Unicode; half of a surrogate pair is none",
    )
