"""What people and sources ask for: commands, and revisions of a source, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from foliot.errors import StaleRevisionError
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import Changes, DecideCommand, DecideDeclared, DecideRemoved
from foliot.stores.postgres import arrays, origin, statement
from foliot.stores.postgres.book import Book, Desk
from foliot.stores.postgres.connection import Connection
from foliot.stores.postgres.notice import send_notice
from foliot.stores.sql import declare

_PAGE = 2000
_NEW_NUMBERS = "SELECT nextval('job_numbers') FROM generate_series(1, %s)"


class Place(NamedTuple):
    """In which schema, when, if a test says so, and after what time without a word the server hears one."""

    schema: str
    told: int | None
    silence: timedelta


class Step(NamedTuple):
    """From which revision of a source to which, and where."""

    source: str
    base: str | None
    revision: str
    place: Place


def update(desk: Desk, job: str, decide: DecideCommand, schema: str) -> Decision:
    """Do to one job what a person asked for."""
    before, decision = declare.update(Book(desk), job, decide)
    if declare.is_news(before, decision):
        send_notice(desk.connection, schema)
    return decision


def prepare(desk: Desk, changes: Changes) -> None:
    """Write the texts that the jobs of a revision share, in a transaction of its own.

    Two sources may share some: whoever adds one would else wait until the other's revision is written.
    """
    policies = {desk.writer.texts(job).policy for job in changes.declared}
    desk.shelf.add(policies, {(job.queue, job.action.kind) for job in changes.declared})


def reconcile(
    desk: Desk, step: Step, changes: Changes, declared: DecideDeclared, removed: DecideRemoved
) -> tuple[Event, ...]:
    """Make the store agree with a source."""
    source, base, wanted, place = step
    found = origin.revision_alone(desk, source)
    if found == wanted:
        return ()
    if found != base:
        raise StaleRevisionError(source, base, found)
    every = [*(job.key for job in changes.declared), *(f"{source}/{name}" for name in changes.removed)]
    desk.connection.execute(statement.LOCK_BY_KEY, (arrays.texts(every),))  # in the order that all keep
    reconciler = declare.Reconciler(Book(desk), partial(_new_numbers, desk.connection), _PAGE)
    speak = _speaker(desk, place.silence)

    def declare_aloud(job: Job, record: Record | None) -> Decision:
        speak()
        return declared(job, record)

    def remove_aloud(record: Record) -> Decision:
        speak()
        return removed(record)

    reconciler.reconcile(source, changes, declare_aloud, remove_aloud)
    origin.note_revision(desk, source, wanted, place.told)
    if reconciler.has_news:
        send_notice(desk.connection, place.schema)
    return tuple(reconciler.events)


def _speaker(desk: Desk, silence: timedelta) -> Callable[[], None]:
    """Say something to the server when it has heard nothing for a while: else it ends the transaction."""
    clock, connection = desk.clock, desk.connection
    spoken_at = clock.monotonic()

    def speak() -> None:
        nonlocal spoken_at
        if clock.monotonic() - spoken_at > silence.total_seconds():
            connection.execute("SELECT 1")
            spoken_at = clock.monotonic()

    return speak


def _new_numbers(connection: Connection, count: int) -> Iterator[int]:
    """So many numbers for jobs; none is ever used again."""
    return (number for (number,) in connection.execute(_NEW_NUMBERS, (count,)).fetchall())
