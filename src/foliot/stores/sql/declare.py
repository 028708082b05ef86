"""Commands of people, and revisions of sources: each is written completely or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from foliot.errors import CommandRefusedError, JobNotFoundError, StaleRevisionError
from foliot.model.attempt import Attempt, AttemptState
from foliot.model.deciding import DecidesNewAlike
from foliot.model.decision import Decision, Event
from foliot.model.events import joined
from foliot.model.job import Job
from foliot.model.state import Record, State
from foliot.protocols import Changes, DecideCommand, DecideDeclared, DecideRemoved
from foliot.stores.sql import history_links, source_rows
from foliot.stores.sql.batch import NO_STATE, WriteBatch
from foliot.stores.sql.codes import UNREADABLE, whole
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.entry import STATE, Entry
from foliot.stores.sql.new_jobs import NewJobs
from foliot.stores.sql.rows import Row, read_attempt, read_state, request_text
from foliot.stores.sql.session import Session
from foliot.stores.sql.versions import Differences

OCCURRENCES = """
    SELECT scheduled_for, number FROM attempts
    WHERE job_no = :job AND scheduled_for IN :these AND request = '' AND state = 3
"""
REQUEST = """
    SELECT 1 FROM attempts AS a INDEXED BY attempts_request
    WHERE a.job_no = :job AND a.request = :request AND a.number = :number AND a.request > '' AND a.state = 3
"""


class Step(NamedTuple):
    """A step of a source, from one revision to the next."""

    source: str
    base: str | None
    revision: str


def update(session: Session, job: str, decide: DecideCommand) -> Decision:
    """Carry out a person's command on one job."""
    batch = session.batch()
    entry = batch.by_key((job,)).get(job)
    if entry is None or entry.record is None or entry.damage is not None:
        raise JobNotFoundError(job)
    record = entry.record
    decision = session.asking(decide)(record)
    _refuse_what_has_run(session.dialect, entry, [a for a in decision.attempts if a.is_open])
    batch.note(entry, record, decision)
    batch.flush()
    if _is_news(record.state, decision):
        session.dialect.send_hint()
    return decision


def _refuse_what_has_run(dialect: Dialect, entry: Entry, opened: Sequence[Attempt]) -> None:
    """Refuse a request or an attempt that exists already."""
    occurrences = {(whole(a.scheduled_for), a.number): a for a in opened if a.request is None}
    instants = {at for at, _ in occurrences}
    ran = dialect.among(OCCURRENCES, instants, job=entry.job_no).fetchall() if instants else []
    again = [occurrences[tuple(key)] for key in ran if tuple(key) in occurrences]
    for a in opened:
        if a.request is not None:
            request = request_text(a.request)
            if dialect.run(REQUEST, job=entry.job_no, request=request, number=a.number).fetchall():
                again.append(a)
    if again:
        raise CommandRefusedError(entry.key, f"{again[0].run_key} has run already")


def _is_news(before: State | None, decision: Decision) -> bool:
    """Whether other nodes should look at the store now."""
    was, wake_at = before.wake_at if before else None, decision.state.wake_at
    if wake_at is not None and (was is None or wake_at < was):
        return True
    return any(attempt.state is AttemptState.CANCELLING for attempt in decision.attempts)


def prepare(session: Session, changes: Changes) -> None:
    """Write the texts that the jobs of a revision share, in a transaction of its own.

    Two sources may share texts. In one transaction, a source would wait for the other's whole revision.
    """
    policies = {session.writer.frame(job).policy for job in changes.declared}
    session.interned.add(policies, {(job.queue, job.action.kind) for job in changes.declared})


def reconcile(
    session: Session, step: Step, changes: Changes, declared: DecideDeclared, removed: DecideRemoved
) -> Sequence[Event]:
    """Make the store equal to a revision of a source."""
    source, base, wanted = step
    found = source_rows.revision_alone(session, source)
    if found == wanted:
        return ()
    if found != base:
        raise StaleRevisionError(source, base, found)
    jobs, gone = changes.wanted, [f"{source}/{name}" for name in changes.removed]
    session.lock_jobs([*(job.key for job in jobs), *gone])
    new = NewJobs(session, declared) if isinstance(declared, DecidesNewAlike) else None
    reconciler = _Reconciler(session, Differences(session.dialect, source, wanted), new)
    reconciler.reconcile(jobs, gone, session.asking(declared), session.asking(removed))
    source_rows.note_revision(session, source, wanted)
    reconciler.differences.write_revision()
    if reconciler.has_news:
        session.dialect.send_hint()
    return reconciler.events


class _Reconciler:
    """One revision under way. `new` takes new jobs, if one decision can serve all that are alike."""

    def __init__(self, session: Session, differences: Differences, new: NewJobs | None) -> None:
        self._batch = session.batch()
        self._dialect = session.dialect
        self._new = new
        self.differences = differences
        self._events: list[Event] = []
        self._has_news = False

    def reconcile(
        self, jobs: Sequence[Job], gone: Sequence[str], declared: DecideDeclared, removed: DecideRemoved
    ) -> None:
        """Handle jobs in pages, to limit memory."""
        size = self._dialect.page
        for start in range(0, len(jobs), size):
            self._declare(jobs[start : start + size], declared)
        for start in range(0, len(gone), size):
            self._remove(gone[start : start + size], removed)

    def _declare(self, jobs: Sequence[Job], decide: DecideDeclared) -> None:
        keys = [job.key for job in jobs]
        entries = self._batch.by_key(keys)
        new = set(keys) - entries.keys()
        numbers = self._dialect.new_numbers(len(new))
        history_links.clear_outputs(self._dialect, new)
        for job, key in zip(jobs, keys, strict=True):
            if (entry := entries.get(key)) is not None:
                self._declare_again(job, entry, decide)
                continue
            if self._new is not None and self._new.add(job, key, numbers):
                continue
            decision = decide(job, None)
            self.differences.note(None, None, decision)
            if not decision.remove:
                self._batch.add(job, next(numbers), decision)
            self._tell(None, decision)
        self._flush()

    def _flush(self) -> None:
        if self._new is not None:
            self.differences.count_new(self._new.flush())
        self._batch.flush()
        self.differences.flush()

    def _declare_again(self, job: Job, entry: Entry, decide: DecideDeclared) -> None:
        record = entry.record or _salvage(self._batch, entry, job)
        decision = decide(job, record)
        self.differences.note(None if entry.record is None else entry, record, decision)
        # A job whose state cannot be read counts as new.
        self._batch.redefine(entry, job, record or Record(job, NO_STATE), decision)
        self._tell(record, decision)

    def _remove(self, keys: Sequence[str], decide: DecideRemoved) -> None:
        for entry in self._batch.by_key(keys).values():
            record = entry.record
            if record is None:
                self._batch.remove(entry)  # it cannot be read at all
                continue
            decision = decide(record)
            self.differences.note(entry, record, decision)
            self._batch.redefine(entry, record.job, record, decision)
            self._tell(record, decision)
        self._flush()

    def _tell(self, record: Record | None, decision: Decision) -> None:
        self._has_news = self._has_news or _is_news(record.state if record else None, decision)
        self._events += decision.events

    @property
    def events(self) -> Sequence[Event]:
        """The events of the jobs."""
        return joined(() if self._new is None else self._new.events, self._events)

    @property
    def has_news(self) -> bool:
        """Whether other nodes should look at the store now."""
        return self._has_news or (self._new is not None and self._new.has_wakes)


def _salvage(batch: WriteBatch, entry: Entry, job: Job) -> Record | None:
    """The readable part of a damaged job's record, with the new declaration.

    Open attempts that cannot be read are dropped, because no node could ever end them.
    """
    good = [row for row in entry.open_rows if _is_readable(batch, entry, row)]
    bad = [row for row in entry.open_rows if row not in good]
    if bad:
        _forget_attempts(batch.dialect, entry, bad)
    entry.open_rows = good
    entry.mend_counts()
    try:
        state = read_state(entry.row[STATE:])
        return Record(job, state, batch.open_attempts(entry) if good else ())
    except UNREADABLE:
        return None


def _forget_attempts(dialect: Dialect, entry: Entry, rows: list[Row]) -> None:
    walked = history_links.walk(dialect, entry.job_no, entry.newest, history_links.ALL)
    gone = [history_links.Past(row[4], row[5], row[1], row[3], None, None, 0, None) for row in rows]
    entry.newest = history_links.forget(dialect, entry.job_no, walked, gone)
    dialect.set_column("states", "newest_at", "job_no", [(entry.newest, entry.job_no)])


def _is_readable(batch: WriteBatch, entry: Entry, row: Row) -> bool:
    try:
        read_attempt(row, entry.key, batch.interned)
    except UNREADABLE:
        return False
    return True
