"""What people and sources ask for: commands, and revisions of a source, all or nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import NamedTuple

from foliot.errors import StaleRevisionError
from foliot.model.decision import Decision, Event
from foliot.protocols import Changes, DecideCommand, DecideDeclared, DecideRemoved
from foliot.stores.sql import declare
from foliot.stores.sqlite import origin
from foliot.stores.sqlite.book import Book, Desk

_PAGE = 400


class Step(NamedTuple):
    """From which revision of a source to which, and when."""

    source: str
    base: str | None
    revision: str
    now: datetime


def update(desk: Desk, job: str, decide: DecideCommand) -> Decision:
    """Do to one job what a person asked for."""
    return declare.update(Book(desk), job, decide)[1]


def reconcile(
    desk: Desk, step: Step, changes: Changes, declared: DecideDeclared, removed: DecideRemoved
) -> tuple[Event, ...]:
    """Make the store agree with a source."""
    source, base, wanted, now = step
    found = origin.revision(desk, source)
    if found == wanted:
        return ()
    if found != base:
        raise StaleRevisionError(source, base, found)
    reconciler = declare.Reconciler(Book(desk), partial(_new_numbers, desk.connection), _PAGE)
    reconciler.reconcile(source, changes, declared, removed)
    origin.note_revision(desk, source, wanted, now)
    return tuple(reconciler.events)


def _new_numbers(connection: sqlite3.Connection, count: int) -> Iterator[int]:
    """So many numbers for jobs; none is ever used again."""
    if not count:
        return iter(())
    (last,) = connection.execute("SELECT value FROM counters WHERE name = 'job'").fetchone()
    connection.execute("UPDATE counters SET value = ? WHERE name = 'job'", (last + count,))
    return iter(range(last + 1, last + count + 1))
