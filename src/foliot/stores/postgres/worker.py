"""Threads with one connection each. They carry out calls of event loops, each within its deadline.

A call is one transaction in the driver's pipeline: statements are sent together, and the thread waits only
for answers that it needs. A transaction that lost a conflict is repeated a few times. A call without an
answer at its deadline fails: its connection is cut, and the next call opens another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import timedelta
from enum import Enum, auto
from queue import Empty
from typing import Any, TypeVar

import psycopg

from foliot.errors import StoreUnavailableError
from foliot.stores import call_thread
from foliot.stores.call_thread import CallThread, unwritable
from foliot.stores.postgres.connection import (
    THREADS,
    WRITE,
    begin,
    cut,
    is_stale,
    is_worth_repeating,
    translated,
)
from foliot.stores.postgres.migration import refuse_newer, telling_steps
from foliot.stores.postgres.session import PostgresSession

Answer = TypeVar("Answer")
Failpoint = Callable[[str], None]

_MOST_TRIES = 4
REST = 20.0  # seconds


class Manner(Enum):
    """How a call uses its connection.

    PIPELINED: one transaction, statements sent together. STEPWISE: one transaction, one statement after
    another, for COPY. ALONE: the call begins and ends its transactions itself.
    """

    PIPELINED = auto()
    STEPWISE = auto()
    ALONE = auto()


class Call(call_thread.Call):
    """Work, its deadline, and the future of the caller."""

    __slots__ = ("deadline", "is_given_up", "manner")

    def __init__(
        self, verb: str, work: Callable[[PostgresSession], Any], deadline: timedelta, manner: Manner
    ) -> None:
        super().__init__(verb, work)
        self.deadline = deadline
        self.manner = manner
        self.is_given_up = False


class Worker(CallThread[Call]):
    """Carries out calls in order, each in its own transaction.

    `begin_with` begins a transaction; `silence` is how long a transaction may be idle; `equip` makes the
    session of a connection; `rests`: close the connection after a while without work.
    """

    def __init__(  # noqa: PLR0913 - all that its calls share
        self,
        name: str,
        begin_with: str,
        *,
        schema: str,
        silence: timedelta,
        equip: Callable[[], PostgresSession],
        failpoint: Failpoint,
        rests: bool = False,
    ) -> None:
        super().__init__(f"{THREADS}{name}")
        self._rests_after = REST if rests else None
        self._begin_with = begin_with
        self._schema = schema
        self._silence = silence
        self._equip = equip
        self._failpoint = failpoint
        self._session: PostgresSession | None = None

    # -- on the event loop -------------------------------------------------------------------------

    async def call(
        self,
        verb: str,
        work: Callable[[PostgresSession], Answer],
        deadline: timedelta,
        manner: Manner = Manner.PIPELINED,
    ) -> Answer:
        """Carry out a call by its deadline. A caller that stops waiting does not undo it."""
        self.check(verb)
        if self.ident is None:
            self.start()
        call = Call(verb, work, deadline, manner)
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
            cut(session.connection)

    def end(self, deadline: timedelta) -> None:
        """Wait for the thread, for a limited time."""
        if self.ident is None:
            return
        self.join(deadline.total_seconds())
        if self.is_alive() and self._session is not None:
            cut(self._session.connection)

    # -- in the thread -----------------------------------------------------------------------------

    def _work(self) -> None:
        while (call := self._next()) is not None:
            if not call.is_given_up:
                self._under_way = (call,)
                outcome = self._do(call)
                self._under_way = ()
                call.settle(*outcome)

    def _next(self) -> Call | None:
        """The next call. After a while without one, close the connection: a server has few."""
        try:
            return self._calls.get(timeout=self._rests_after)
        except Empty:
            session, self._session = self._session, None
            if session is not None:
                with suppress(psycopg.Error, OSError):  # it is given up either way
                    session.connection.close()
            return self._calls.get()

    def _let_go(self) -> None:
        self._drop()

    def _do(self, call: Call) -> tuple[Any, BaseException | None]:
        for tries_left in reversed(range(_MOST_TRIES)):
            try:
                return self._transact(call), None
            except psycopg.Error as error:
                self._undo()
                if not (tries_left and is_worth_repeating(error)) or call.is_given_up:
                    return None, translated(call.verb, error)
            except UnicodeEncodeError as error:
                self._undo()
                return None, unwritable(call.verb, error)
            except BaseException as error:  # noqa: BLE001 - the caller gets the error
                self._undo()
                return None, error
        raise AssertionError  # the last try returns

    def _transact(self, call: Call) -> Any:
        session = self._at_work()
        if call.is_given_up:  # while the connection was being made
            raise StoreUnavailableError(call.verb, "it was given up")
        connection = session.connection
        if call.manner is Manner.ALONE:
            return call.work(session)
        with connection.pipeline() if call.manner is Manner.PIPELINED else nullcontext():
            begun = begin(
                connection,
                self._begin_with,
                self._schema,
                call.deadline,
                silence=self._silence,
                steps=telling_steps(self._schema),
            )
            try:
                answer = call.work(session)
            except psycopg.ProgrammingError:  # the tables may have changed
                refuse_newer(_newest(begun))
                raise
            refuse_newer(_newest(begun))  # it came with the answer, without a round trip of its own
            if self._begin_with == WRITE:
                self._failpoint(f"{call.verb}:before_commit")
            connection.execute("COMMIT")
        if self._begin_with == WRITE:
            self._failpoint(f"{call.verb}:after_commit")
        return answer

    def _at_work(self) -> PostgresSession:
        if self._session is not None and is_stale(self._session.connection):
            self._drop()
        if self._session is None:
            self._session = self._equip()
        return self._session

    def _undo(self) -> None:
        """Roll back an open transaction, and clear the session's cache, which may be wrong now."""
        if self._session is None:
            return
        connection = self._session.connection
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
            self._session.forget()
        except psycopg.Error:
            self._drop()
        if connection.closed:
            self._drop()

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.forget()  # another server may answer next time
            with suppress(psycopg.Error, OSError):  # it is given up either way
                session.connection.close()


def _newest(begun: psycopg.Cursor[tuple[Any, ...]]) -> int:
    return max((row[-1] for row in begun.fetchall()), default=0)
