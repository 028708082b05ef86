"""A thread with a session: it carries out calls of event loops, each within its deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import pymongo

from foliot.errors import StoreUnavailableError
from foliot.stores import call_thread
from foliot.stores.call_thread import CallThread, unwritable
from foliot.stores.mongodb.connection import DRIVER_ERRORS, translated
from foliot.stores.mongodb.session import MongoSession

Answer = TypeVar("Answer")


class Call(call_thread.Call):
    """A call to carry out with a session, within a number of seconds from its start."""

    __slots__ = ("is_given_up", "seconds")

    def __init__(self, verb: str, work: Callable[[MongoSession], Any], seconds: float) -> None:
        super().__init__(verb, work)
        self.is_given_up = False
        self.seconds = seconds


class Worker(CallThread[Call]):
    """Carries out calls in order. The driver ends a call that takes too long."""

    def __init__(self, name: str, session: MongoSession) -> None:
        super().__init__(f"foliot-mongodb-{name}")
        self._session = session

    # -- on the event loop -------------------------------------------------------------------------

    async def call(self, verb: str, work: Callable[[MongoSession], Answer], deadline: timedelta) -> Answer:
        """Carry out a call within its deadline. If the caller stops waiting, the call still goes on."""
        self.check(verb)
        if self.ident is None:
            self.start()
        seconds = deadline.total_seconds()
        call = Call(verb, work, seconds)
        self.put(call)
        try:
            async with asyncio.timeout(seconds):
                answer: Answer = await call.future
        except TimeoutError:
            call.is_given_up = True
            words = f"the server did not answer within {seconds:g} s"
            raise StoreUnavailableError(verb, words) from None
        return answer

    def end(self, deadline: timedelta) -> None:
        """Wait for the thread to end, at most until the deadline."""
        if self.ident is not None:
            self.join(deadline.total_seconds())

    # -- in the thread -----------------------------------------------------------------------------

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            if not call.is_given_up:
                self._under_way = (call,)
                outcome = self._do(call)
                self._under_way = ()
                call.settle(*outcome)

    def _let_go(self) -> None:
        """Close nothing: the client belongs to the store."""

    def _do(self, call: Call) -> tuple[Any, BaseException | None]:
        try:
            self._session.catch_up(call.verb)
            with pymongo.timeout(call.seconds):
                return call.work(self._session), None
        except DRIVER_ERRORS as error:
            return None, translated(call.verb, error)
        except UnicodeEncodeError as error:
            return None, unwritable(call.verb, error)
        except BaseException as error:  # noqa: BLE001 - the caller gets the error
            return None, error
