"""What people and sources ask for: commands, and revisions of a source, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from foliot.errors import CommandRefusedError, JobNotFoundError, StaleRevisionError
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import Changes, DecideCommand, DecideDeclared, DecideRemoved
from foliot.stores.sqlite import origin
from foliot.stores.sqlite.book import Book, Desk, Entry
from foliot.stores.sqlite.rows import attempt_key

_PAGE = 400
_REQUEST = """
    SELECT 1 FROM attempts INDEXED BY attempts_request
    WHERE job_no = ? AND request = ? AND number = ? AND request > '' AND state = 3
"""
_OCCURRENCE = """
    SELECT 1 FROM attempts
    WHERE scheduled_for = ? AND job_no = ? AND request = '' AND number = ? AND state = 3
"""


class Step(NamedTuple):
    """From which revision of a source to which, and when."""

    source: str
    base: str | None
    revision: str
    now: datetime


def update(desk: Desk, job: str, decide: DecideCommand) -> Decision:
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
        if book.connection.execute(same, values).fetchone():
            raise CommandRefusedError(record.job.key, f"{attempt.run_key} has run already")


def reconcile(
    desk: Desk, step: Step, changes: Changes, declared: DecideDeclared, removed: DecideRemoved
) -> tuple[Event, ...]:
    """Make the store agree with a source. Pages of jobs, so that memory does not grow with them."""
    source, base, wanted, now = step
    found = origin.revision(desk, source)
    if found == wanted:
        return ()
    if found != base:
        raise StaleRevisionError(source, base, found)
    reconciler = _Reconciler(desk)
    for start in range(0, len(changes.declared), _PAGE):
        reconciler.declare(changes.declared[start : start + _PAGE], declared)
    for start in range(0, len(changes.removed), _PAGE):
        keys = [f"{source}/{name}" for name in changes.removed[start : start + _PAGE]]
        reconciler.remove(keys, removed)
    reconciler.end()
    origin.note_revision(desk, source, wanted, now)
    return tuple(reconciler.events)


class _Reconciler:
    """One revision under way."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._book = Book(desk)
        (self._last_number,) = desk.connection.execute(
            "SELECT value FROM counters WHERE name = 'job'"
        ).fetchone()
        self.events: list[Event] = []

    def declare(self, jobs: Sequence[Job], decide: DecideDeclared) -> None:
        entries = self._book.by_key({job.key for job in jobs})
        for job in jobs:
            entry = entries.get(job.key)
            decision = (
                self._declare_new(job, entries, decide)
                if entry is None
                else self._declare_again(job, entry, decide)
            )
            self.events += decision.events
        self._book.flush()

    def _declare_new(self, job: Job, entries: dict[str, Entry], decide: DecideDeclared) -> Decision:
        decision = decide(job, None)
        if not decision.remove:
            self._last_number += 1
            entries[job.key] = self._book.add(job, self._last_number, decision)
        return decision

    def _declare_again(self, job: Job, entry: Entry, decide: DecideDeclared) -> Decision:
        record = entry.record or self._book.salvage(entry, job)
        decision = decide(job, record)
        if record is None:
            self._book.begin_anew(entry, job, decision)
        else:
            self._book.redefine(entry, job, record, decision)
        return decision

    def remove(self, keys: Sequence[str], decide: DecideRemoved) -> None:
        for entry in self._book.by_key(keys).values():
            if entry.record is None:
                self._book.remove(entry)  # nobody can say what it was
                continue
            decision = decide(entry.record)
            self._book.redefine(entry, entry.record.job, entry.record, decision)
            self.events += decision.events
        self._book.flush()

    def end(self) -> None:
        self._desk.connection.execute(
            "UPDATE counters SET value = ? WHERE name = 'job'", (self._last_number,)
        )
