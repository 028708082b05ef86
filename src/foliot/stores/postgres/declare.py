"""What people and sources ask for: commands, and revisions of a source, all or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from foliot.errors import CommandRefusedError, JobNotFoundError, StaleRevisionError
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import Changes, DecideCommand, DecideDeclared, DecideRemoved
from foliot.stores.postgres import arrays, origin, statement
from foliot.stores.postgres.book import Book, Desk, Entry
from foliot.stores.postgres.notice import is_news, send_notice
from foliot.stores.sqlite.rows import attempt_key

_PAGE = 2000
_REQUEST = """
    SELECT 1 FROM attempts
    WHERE job_no = %s AND request = %s AND number = %s AND request > '' AND state = 3
"""
_OCCURRENCE = """
    SELECT 1 FROM attempts
    WHERE scheduled_for = %s AND job_no = %s AND request = '' AND number = %s AND state = 3
"""
_NEW_NUMBERS = "SELECT nextval('job_numbers') FROM generate_series(1, %s)"


class Step(NamedTuple):
    """From which revision of a source to which, in which schema, and when, if a test says so."""

    source: str
    base: str | None
    revision: str
    schema: str
    told: int | None


def update(desk: Desk, job: str, decide: DecideCommand, schema: str) -> Decision:
    """Do to one job what a person asked for."""
    book = Book(desk)
    entry = book.by_key((job,)).get(job)
    if entry is None or entry.record is None or entry.damage is not None:
        raise JobNotFoundError(job)
    record = entry.record
    decision = decide(record)
    _refuse_what_has_run(book, entry, record, decision)
    book.note(entry, record, decision)
    book.flush()
    if is_news(record.state, decision):
        send_notice(desk.connection, schema)
    return decision


def _refuse_what_has_run(book: Book, entry: Entry, record: Record, decision: Decision) -> None:
    """A request that has been served is not served again, and neither is an attempt."""
    for attempt in decision.attempts:
        if not attempt.is_open:
            continue
        at, job_no, request, number = attempt_key(attempt, entry.job_no)
        values, same = (
            ((job_no, request, number), _REQUEST) if request else ((at, job_no, number), _OCCURRENCE)
        )
        if book.table.execute(same, values).fetchone():
            raise CommandRefusedError(record.job.key, f"{attempt.run_key} has run already")


def prepare(desk: Desk, changes: Changes) -> None:
    """Write the texts that the jobs of a revision share, in a transaction of its own.

    Two sources may share some: whoever adds one would else wait until the other's revision is written.
    """
    policies = {desk.writer.texts(job).policy for job in changes.declared}
    desk.shelf.add(policies, {(job.queue, job.action.kind) for job in changes.declared})


def reconcile(
    desk: Desk, step: Step, changes: Changes, declared: DecideDeclared, removed: DecideRemoved
) -> tuple[Event, ...]:
    """Make the store agree with a source. Pages of jobs, so that memory does not grow with them."""
    source, base, wanted, schema, told = step
    found = origin.revision_alone(desk, source)
    if found == wanted:
        return ()
    if found != base:
        raise StaleRevisionError(source, base, found)
    gone = [f"{source}/{name}" for name in changes.removed]
    every = arrays.texts([*(job.key for job in changes.declared), *gone])
    desk.connection.execute(statement.LOCK_BY_KEY, (every,))  # all at once, in the order that all keep
    reconciler = _Reconciler(desk)
    for start in range(0, len(changes.declared), _PAGE):
        reconciler.declare(changes.declared[start : start + _PAGE], declared)
    for start in range(0, len(gone), _PAGE):
        reconciler.remove(gone[start : start + _PAGE], removed)
    origin.note_revision(desk, source, wanted, told)
    if reconciler.has_news:
        send_notice(desk.connection, schema)
    return tuple(reconciler.events)


class _Reconciler:
    """One revision under way."""

    def __init__(self, desk: Desk) -> None:
        self.book = Book(desk)
        self.events: list[Event] = []
        self.has_news = False

    def declare(self, jobs: Sequence[Job], decide: DecideDeclared) -> None:
        entries = self.book.by_key({job.key for job in jobs})
        new = {job.key for job in jobs} - entries.keys()
        numbers = (n for (n,) in self.book.table.execute(_NEW_NUMBERS, (len(new),)).fetchall())
        for job in jobs:
            entry = entries.get(job.key)
            decision = (
                self._declare_new(job, entries, numbers, decide)
                if entry is None
                else self._declare_again(job, entry, decide)
            )
            self.events += decision.events
        self.book.flush()

    def _declare_new(
        self, job: Job, entries: dict[str, Entry], numbers: Iterator[int], decide: DecideDeclared
    ) -> Decision:
        decision = decide(job, None)
        if not decision.remove:
            entries[job.key] = self.book.add(job, next(numbers), decision)
            self.has_news = self.has_news or is_news(None, decision)
        return decision

    def _declare_again(self, job: Job, entry: Entry, decide: DecideDeclared) -> Decision:
        record = entry.record or self.book.salvage(entry, job)
        decision = decide(job, record)
        if record is None:
            self.book.begin_anew(entry, job, decision)
        else:
            self.book.redefine(entry, job, record, decision)
        self.has_news = self.has_news or is_news(record.state if record else None, decision)
        return decision

    def remove(self, keys: Sequence[str], decide: DecideRemoved) -> None:
        for entry in self.book.by_key(keys).values():
            if entry.record is None:
                self.book.remove(entry)  # nobody can say what it was
                continue
            record, decision = entry.record, decide(entry.record)
            self.book.redefine(entry, record.job, record, decision)
            self.has_news = self.has_news or is_news(record.state, decision)
            self.events += decision.events
        self.book.flush()
