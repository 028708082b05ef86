"""Threads that own a connection each, and do with it what the event loops ask for.

The writer does as many calls in one transaction as are waiting when it begins: one wait for the disk
serves them all. A call that fails undoes its own work only. Answers are given after the commit.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from foliot.errors import StoreError
from foliot.stores.sqlite.connection import is_passing, translated
from foliot.stores.sqlite.migration import check_schema

Desk = TypeVar("Desk")
Answer = TypeVar("Answer")
Failpoint = Callable[[str], None]

_MOST_TOGETHER = 64


class Call(NamedTuple):
    """Something to be done, and who waits for it."""

    verb: str
    work: Callable[[Any], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class Outcome(NamedTuple):
    """What came of a call."""

    answer: Any = None
    error: BaseException | None = None


class Worker(threading.Thread, Generic[Desk]):
    """Does the calls that are put to it, in their order, each in a transaction for reading.

    `equip` makes of a fresh connection what the calls get to work with.
    """

    begin = "BEGIN"

    def __init__(
        self,
        name: str,
        connect: Callable[[], sqlite3.Connection],
        equip: Callable[[sqlite3.Connection], Desk],
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._connect = connect
        self._equip = equip
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._connection: sqlite3.Connection | None = None
        self._desk: Desk | None = None
        self._is_closed = False

    def call(self, verb: str, work: Callable[[Desk], Answer]) -> asyncio.Future[Answer]:
        """Have something done; the future is of the running loop. Whoever stops waiting undoes nothing."""
        if self._is_closed or self.ident is None:
            raise StoreError(f"{verb}: the store is not open", hint="use `async with`, or open it first")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        self._calls.put(Call(verb, work, loop, future))
        return future

    def close(self) -> None:
        """No more calls; those that wait are still done."""
        self._is_closed = True
        self._calls.put(None)

    def run(self) -> None:
        """Work until closed."""
        while calls := self._take():
            for call, outcome in zip(calls, self._do(calls), strict=True):
                _tell(call, outcome)
        self._drop_connection()
        while not self._calls.empty():
            if late := self._calls.get():
                _tell(late, Outcome(error=StoreError(f"{late.verb}: the store was closed")))

    def _take(self) -> list[Call]:
        """One call, or none if there will be no more."""
        call = self._calls.get()
        return [] if call is None else [call]

    def _do(self, calls: list[Call]) -> list[Outcome]:
        try:
            desk = self._at_work()
            self._execute(self.begin)
            if self._connection is not None:
                check_schema(self._connection)
        except (sqlite3.Error, StoreError, OSError) as error:
            return self._fail(calls, error)
        try:
            return self._do_together(calls, desk)
        except Exception as error:  # noqa: BLE001 - whatever it was, this thread lives on
            return self._fail(calls, error)
        finally:
            self._undo()

    def _do_together(self, calls: list[Call], desk: Desk) -> list[Outcome]:
        outcomes = [_attempted(call, desk) for call in calls]
        self._execute("COMMIT")
        return outcomes

    # -- the connection ----------------------------------------------------------------------------

    def _at_work(self) -> Desk:
        if self._desk is None or self._connection is None:
            self._connection = self._connect()
            self._desk = self._equip(self._connection)
        return self._desk

    def _execute(self, statement: str) -> None:
        if self._connection is not None:
            self._connection.execute(statement)

    def _undo(self) -> None:
        """End a transaction that is still open."""
        try:
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
                self._forget()
        except sqlite3.Error:
            self._drop_connection()

    def _forget(self) -> None:
        """What the desk remembers may never have been written."""
        if self._connection is not None:
            self._desk = self._equip(self._connection)

    def _fail(self, calls: list[Call], error: Exception) -> list[Outcome]:
        """None of it took effect. After a trouble with the file itself, a fresh connection is better."""
        self._undo()
        self._forget()
        if isinstance(error, sqlite3.Error):
            if not is_passing(error):
                self._drop_connection()
            return [Outcome(error=translated(call.verb, error)) for call in calls]
        return [Outcome(error=error) for _ in calls]

    def _drop_connection(self) -> None:
        connection, self._connection, self._desk = self._connection, None, None
        if connection is not None:
            with suppress(sqlite3.Error):  # it is given up either way
                connection.close()


class Writer(Worker[Desk]):
    """Does the calls that wait in one transaction for writing."""

    begin = "BEGIN IMMEDIATE"

    def __init__(
        self,
        name: str,
        connect: Callable[[], sqlite3.Connection],
        equip: Callable[[sqlite3.Connection], Desk],
        failpoint: Failpoint,
    ) -> None:
        super().__init__(name, connect, equip)
        self._failpoint = failpoint

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

    def _do_together(self, calls: list[Call], desk: Desk) -> list[Outcome]:
        if len(calls) == 1:
            outcomes = [_attempted(calls[0], desk)]
            if outcomes[0].error is not None:
                return outcomes  # the transaction is undone as a whole
        else:
            outcomes = [self._apart(call) for call in calls]
        for call in calls:
            self._failpoint(f"{call.verb}:before_commit")
        self._execute("COMMIT")
        for call in calls:
            self._failpoint(f"{call.verb}:after_commit")
        return outcomes

    def _apart(self, call: Call) -> Outcome:
        """One of several in a transaction: if it fails, the others' work stays."""
        self._execute("SAVEPOINT one")
        outcome = _attempted(call, self._at_work())
        if outcome.error is not None:
            self._execute("ROLLBACK TO one")
            self._forget()
        self._execute("RELEASE one")
        return outcome


def _attempted(call: Call, desk: object) -> Outcome:
    try:
        return Outcome(call.work(desk))
    except sqlite3.Error:
        raise
    except Exception as error:  # noqa: BLE001 - it belongs to whoever made the call, not to this thread
        return Outcome(error=error)


def _tell(call: Call, outcome: Outcome) -> None:
    with suppress(RuntimeError):  # its loop is closed: nobody waits any more
        call.loop.call_soon_threadsafe(_settle, call.future, outcome)


def _settle(future: asyncio.Future[Any], outcome: Outcome) -> None:
    if future.done():
        return
    if outcome.error is not None:
        future.set_exception(outcome.error)
    else:
        future.set_result(outcome.answer)
