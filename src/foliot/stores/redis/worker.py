"""A thread with a connection: it carries out calls of event loops, each within its deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from queue import Empty
from typing import Any, TypeVar

from redis.exceptions import RedisError

from foliot.errors import StoreUnavailableError
from foliot.stores import call_thread
from foliot.stores.call_thread import CallThread, unwritable
from foliot.stores.redis.session import RedisSession
from foliot.stores.redis.wire import translated

Answer = TypeVar("Answer")

_REST = 60.0  # seconds without work, after which a connection is closed


class Call(call_thread.Call):
    """A call to carry out with a session."""

    __slots__ = ("is_given_up",)

    def __init__(self, verb: str, work: Callable[[RedisSession], Any]) -> None:
        super().__init__(verb, work)
        self.is_given_up = False


class Worker(CallThread[Call]):
    """Carries out calls in order. `equip` makes a session with a connection."""

    def __init__(self, name: str, equip: Callable[[], RedisSession]) -> None:
        super().__init__(f"foliot-redis-{name}")
        self._equip = equip
        self._session: RedisSession | None = None

    # -- on the event loop -------------------------------------------------------------------------

    async def call(self, verb: str, work: Callable[[RedisSession], Answer], deadline: timedelta) -> Answer:
        """Carry out a call within its deadline. If the caller stops waiting, the call still goes on."""
        self.check(verb)
        if self.ident is None:
            self.start()
        call = Call(verb, work)
        self.put(call)
        try:
            async with asyncio.timeout(deadline.total_seconds()):
                answer: Answer = await call.future
        except TimeoutError:
            self._give_up(call)
            words = f"the server did not answer within {deadline.total_seconds():g} s"
            raise StoreUnavailableError(verb, words) from None
        return answer

    def _give_up(self, call: Call) -> None:
        call.is_given_up = True
        session = self._session
        if call in self._under_way and session is not None:
            session.wire.cut()

    def end(self, deadline: timedelta) -> None:
        """Wait for the thread to end, at most until the deadline."""
        if self.ident is None:
            return
        self.join(deadline.total_seconds())
        session = self._session
        if self.is_alive() and session is not None:
            session.wire.cut()

    # -- in the thread -----------------------------------------------------------------------------

    def _work(self) -> None:
        while (call := self._next()) is not None:
            if not call.is_given_up:
                self._under_way = (call,)
                outcome = self._do(call)
                self._under_way = ()
                call.settle(*outcome)

    def _next(self) -> Call | None:
        """The next call. If there is none for a while, the thread closes its connection."""
        with suppress(Empty):
            return self._calls.get(timeout=_REST)
        self._let_go()
        return self._calls.get()

    def _let_go(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.wire.close()

    def _do(self, call: Call) -> tuple[Any, BaseException | None]:
        try:
            session = self._at_work()
            session.catch_up(call.verb)
            answer = session.timed(call.work)
        except (RedisError, OSError) as error:
            self._let_go()
            return None, translated(call.verb, error)
        except UnicodeEncodeError as error:
            return None, unwritable(call.verb, error)
        except BaseException as error:  # noqa: BLE001 - the caller gets the error
            return None, error
        return answer, None

    def _at_work(self) -> RedisSession:
        if self._session is not None and self._session.wire.is_stale():
            self._let_go()
        if self._session is None:
            self._session = self._equip()
        return self._session
