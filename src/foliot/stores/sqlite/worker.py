"""Threads that own a connection each, and do with it what the event loops ask for.

The writer does as many calls in one transaction as are waiting when it begins: one wait for the disk
serves them all. A call that fails undoes its own work only. Answers are given after the commit.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from queue import Empty
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from foliot.errors import StoreError
from foliot.stores.call_thread import Call, CallThread
from foliot.stores.sqlite.bad_text import is_bad_text
from foliot.stores.sqlite.connection import Connection, is_passing, translated
from foliot.stores.sqlite.migration import check_schema
from foliot.stores.sqlite.write_turn import WriteTurn

if TYPE_CHECKING:
    from foliot.stores.sqlite.session import SqliteSession

Answer = TypeVar("Answer")
Facts = ParamSpec("Facts")
Failpoint = Callable[[str], None]

_MOST_TOGETHER = 64
# The audit is written before and after each change. The change itself waits for the disk. That wait covers
# all that was committed before: no power cut keeps the change and loses the entry that announced it.
_NOT_WAITED_FOR = frozenset(("write_audit", "settle_audit"))


class CallersError(Exception):
    """Something that the caller must get as it is: it is no trouble of the store's."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def of_caller(ask: Callable[Facts, Answer]) -> Callable[Facts, Answer]:
    """A function that the caller has given: its errors go back to the caller."""

    def asked(*facts: Facts.args, **more: Facts.kwargs) -> Answer:
        try:
            return ask(*facts, **more)
        except BaseException as error:
            raise CallersError(error) from error

    return asked


class Outcome(NamedTuple):
    """What came of a call."""

    answer: Any = None
    error: BaseException | None = None


class Worker(CallThread[Call]):
    """Does the calls that are put to it, in their order, each in a transaction for reading.

    `equip` makes a session with a fresh connection, which reads bad text or does not: see `bad_text`.
    """

    begin = "BEGIN"

    def __init__(self, name: str, equip: Callable[[bool], SqliteSession]) -> None:
        super().__init__(name)
        self._equip = equip
        self._session: SqliteSession | None = None
        self._has_bad_text = False

    def call(self, verb: str, work: Callable[[SqliteSession], Answer]) -> asyncio.Future[Answer]:
        """Have something done; the future is of the running loop. Whoever stops waiting undoes nothing."""
        self.check(verb)
        call = Call(verb, work)
        self.put(call)
        return call.future

    def check(self, verb: str) -> None:
        """StoreError if the thread does not run, so that no call would be answered."""
        if self.ident is None:
            raise StoreError(f"{verb}: the store is not open", hint="use `async with`, or open it first")
        super().check(verb)

    def _work(self) -> None:
        while calls := self._take():
            self._under_way = calls
            for call, outcome in zip(calls, self._do(calls), strict=True):
                call.settle(*outcome)
            self._under_way = ()

    def _take(self) -> list[Call]:
        """One call, or none if there will be no more."""
        call = self._calls.get()
        return [] if call is None else [call]

    def _do(self, calls: list[Call]) -> list[Outcome]:
        try:
            return self._transact(calls)
        except BaseException as error:  # noqa: BLE001 - whatever it was, this thread lives on
            self._undo()
            if not is_bad_text(error) or self._has_bad_text:
                return self._fail(calls, error)
        self._has_bad_text = True  # from now on such a text is read as what it is
        self._drop()
        return self._do(calls)

    def _transact(self, calls: list[Call]) -> list[Outcome]:
        try:
            if self._session is None:
                self._session = self._equip(self._has_bad_text)
            session, connection = self._session, self._session.connection
            self._prepare(calls, connection)
            connection.execute(self.begin)
            check_schema(connection)
            connection.files.check(calls[0].verb)
            return self._do_together(calls, session)
        finally:
            self._undo()

    def _prepare(self, calls: list[Call], connection: Connection) -> None:
        """Set up the connection for these calls."""

    def _do_together(self, calls: list[Call], session: SqliteSession) -> list[Outcome]:
        outcomes = [_attempted(call, session) for call in calls]
        session.connection.execute("COMMIT")
        return outcomes

    def _undo(self) -> None:
        """End a transaction that is still open. What the session remembers may never have been written."""
        session = self._session
        try:
            if session is not None and session.connection.in_transaction:
                session.forget()
                session.connection.execute("ROLLBACK")
        except Exception:  # noqa: BLE001 - a fresh connection knows of no transaction
            self._drop()

    def _fail(self, calls: list[Call], error: BaseException) -> list[Outcome]:
        """None of it took effect. After a trouble with the file itself, a fresh connection is better."""
        if self._session is not None:
            self._session.forget()
        if isinstance(error, sqlite3.Error) and not is_passing(error):
            self._drop()
        return [Outcome(error=translated(call.verb, error)) for call in calls]

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with suppress(sqlite3.Error):  # it is given up either way
                session.connection.close()

    _let_go = _drop


class Writer(Worker):
    """Does the calls that wait in one transaction for writing."""

    begin = "BEGIN IMMEDIATE"

    def __init__(
        self, name: str, equip: Callable[[bool], SqliteSession], turn: WriteTurn, failpoint: Failpoint
    ) -> None:
        super().__init__(name, equip)
        self._turn = turn
        self._failpoint = failpoint

    def _transact(self, calls: list[Call]) -> list[Outcome]:
        with self._turn.taken():
            return super()._transact(calls)

    def _prepare(self, calls: list[Call], connection: Connection) -> None:
        """Wait for the disk at the commit, unless all calls can do without."""
        connection.wait_for_disk(any(call.verb not in _NOT_WAITED_FOR for call in calls))

    def _take(self) -> list[Call]:
        calls = super()._take()
        try:
            while calls and len(calls) < _MOST_TOGETHER:
                call = self._calls.get_nowait()
                if call is None:
                    self._calls.put(None)
                    break
                calls.append(call)
        except Empty:
            pass
        return calls

    def _do_together(self, calls: list[Call], session: SqliteSession) -> list[Outcome]:
        if len(calls) == 1:
            outcomes = [_attempted(calls[0], session)]
            if outcomes[0].error is not None:
                return outcomes  # the transaction is undone as a whole
        else:
            outcomes = [self._apart(call, session) for call in calls]
        for call in calls:
            self._failpoint(f"{call.verb}:before_commit")
        session.connection.execute("COMMIT")
        for call in calls:
            self._failpoint(f"{call.verb}:after_commit")
        return outcomes

    def _apart(self, call: Call, session: SqliteSession) -> Outcome:
        """One of several in a transaction: if it fails, the others' work stays."""
        session.connection.execute("SAVEPOINT one")
        outcome = _attempted(call, session)
        if outcome.error is not None:
            session.connection.execute("ROLLBACK TO one")
            session.forget()
        session.connection.execute("RELEASE one")
        return outcome


def _attempted(call: Call, session: SqliteSession) -> Outcome:
    try:
        return Outcome(call.work(session))
    except sqlite3.Error:
        raise
    except CallersError as error:
        return Outcome(error=error.error)
    except BaseException as error:  # noqa: BLE001 - it ends the call, and not this thread
        return Outcome(error=translated(call.verb, error))
