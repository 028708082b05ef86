"""What people and sources ask for: commands, and the pages of a revision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from foliot.errors import CommandRefusedError, JobNotFoundError
from foliot.model.attempt import Attempt, AttemptState
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.state import Record, State
from foliot.protocols import Changes, DecideCommand, DecideDeclared, DecideRemoved
from foliot.stores.sql import history
from foliot.stores.sql.book import Book
from foliot.stores.sql.codes import whole
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.entry import Entry
from foliot.stores.sql.rows import request_text

NewNumbers = Callable[[int], Iterator[int]]

OCCURRENCES = """
    SELECT scheduled_for, number FROM attempts
    WHERE job_no = :job AND scheduled_for IN :these AND request = '' AND state = 3
"""
REQUEST = """
    SELECT 1 FROM attempts AS a {request}
    WHERE a.job_no = :job AND a.request = :request AND a.number = :number AND a.request > '' AND a.state = 3
"""


def update(book: Book, job: str, decide: DecideCommand) -> tuple[State, Decision]:
    """Do to one job what a person asked for; its state before that, and what was decided."""
    entry = book.by_key((job,)).get(job)
    if entry is None or entry.record is None or entry.damage is not None:
        raise JobNotFoundError(job)
    record = entry.record
    decision = decide(record)
    _refuse_what_has_run(book.dialect, entry, [a for a in decision.attempts if a.is_open])
    book.note(entry, record, decision)
    book.flush()
    return record.state, decision


def _refuse_what_has_run(dialect: Dialect, entry: Entry, opened: Sequence[Attempt]) -> None:
    """A request that has been served is not served again, and neither is an attempt."""
    occurrences = {(whole(a.scheduled_for), a.number): a for a in opened if a.request is None}
    instants = {at for at, _ in occurrences}
    ran = dialect.select_among(OCCURRENCES, instants, job=entry.job_no) if instants else []
    again = [occurrences[tuple(key)] for key in ran if tuple(key) in occurrences]
    asked = REQUEST.format(request=dialect.using("attempts_request"))
    for a in opened:
        if a.request is not None:
            request = request_text(a.request)
            if dialect.run(asked, job=entry.job_no, request=request, number=a.number).fetchall():
                again.append(a)
    if again:
        raise CommandRefusedError(entry.key, f"{again[0].run_key} has run already")


def is_news(before: State | None, decision: Decision) -> bool:
    """Whether somebody should look sooner than they meant to."""
    was, wake_at = before.wake_at if before else None, decision.state.wake_at
    if wake_at is not None and (was is None or wake_at < was):
        return True
    return any(attempt.state is AttemptState.CANCELLING for attempt in decision.attempts)


class Reconciler:
    """One revision under way. `has_news`: somebody should look sooner than they meant to."""

    def __init__(self, book: Book, new_numbers: NewNumbers, page: int) -> None:
        self._book = book
        self._new_numbers = new_numbers
        self._page = page
        self.events: list[Event] = []
        self.has_news = False

    def reconcile(
        self, source: str, changes: Changes, declared: DecideDeclared, removed: DecideRemoved
    ) -> None:
        """Pages of jobs, so that memory does not grow with them."""
        size = self._page
        for start in range(0, len(changes.declared), size):
            self._declare(changes.declared[start : start + size], declared)
        for start in range(0, len(changes.removed), size):
            self._remove([f"{source}/{name}" for name in changes.removed[start : start + size]], removed)

    def _declare(self, jobs: Sequence[Job], decide: DecideDeclared) -> None:
        keys = {job.key for job in jobs}
        entries = self._book.by_key(keys)
        new = keys - entries.keys()
        numbers = self._new_numbers(len(new))
        history.clear_outputs(self._book.dialect, new)
        for job in jobs:
            entry = entries.get(job.key)
            if entry is not None:
                self._declare_again(job, entry, decide)
                continue
            decision = decide(job, None)
            if not decision.remove:
                entries[job.key] = self._book.add(job, next(numbers), decision)
            self._tell(None, decision)
        self._book.flush()

    def _declare_again(self, job: Job, entry: Entry, decide: DecideDeclared) -> None:
        record = entry.record or self._book.salvage(entry, job)
        decision = decide(job, record)
        if record is None:
            self._book.begin_anew(entry, job, decision)
        else:
            self._book.redefine(entry, job, record, decision)
        self._tell(record, decision)

    def _remove(self, keys: Sequence[str], decide: DecideRemoved) -> None:
        for entry in self._book.by_key(keys).values():
            record = entry.record
            if record is None:
                self._book.remove(entry)  # nobody can say what it was
                continue
            decision = decide(record)
            self._book.redefine(entry, record.job, record, decision)
            self._tell(record, decision)
        self._book.flush()

    def _tell(self, record: Record | None, decision: Decision) -> None:
        self.has_news = self.has_news or is_news(record.state if record else None, decision)
        self.events += decision.events
