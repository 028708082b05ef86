"""A revision of a source, all or nothing, for stores that compare before they write.

A small revision is one step. If all marks still hold, all of it is written. Otherwise nothing is written, and
the changed jobs are decided about again.

A large revision would keep the database busy for too long. So it takes these steps:

    stage    write the decisions in portions that no other node sees
    freeze   hold the source still: no node claims, finishes or changes its jobs
    compare  check the marks of each portion; decide again about a portion in which a job has changed
    count    one small step: from now on the revision counts
    apply    write the portions into the jobs; every process that meets one helps; then the source goes on

Before `count` nothing has changed. If the writer dies, its stage is forgotten, and its source goes on after
half a second.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from foliot.errors import StaleRevisionError
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.model.version import Change as Difference
from foliot.model.version import change_of as difference_of
from foliot.model.version import ended_version
from foliot.protocols import Changes, DecideDeclared, DecideRemoved
from foliot.stores.optimistic.change import Change, change_of
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.session import OptimisticSession
from foliot.stores.optimistic.verbs import change_by, is_news, known_orders

AT_ONCE = 125  # jobs of one portion, and the most that are written in one step


class Step(NamedTuple):
    """A step of a source, from one revision to the next."""

    source: str
    base: str | None
    revision: str


class Effect(NamedTuple):
    """How many jobs a revision adds, changes and removes; and whether other nodes should look now."""

    differences: Counter[Difference]
    has_news: bool


class StaleBaseError(Exception):
    """The source is no longer at the base of the revision."""


class FreezeLostError(Exception):
    """The writer was silent for too long, so its source is no longer frozen: compare once more."""


class Stage(ABC):
    """One large revision under way. Only `count` changes what others see."""

    @abstractmethod
    def put(self, number: int, changes: Sequence[Change]) -> None:
        """Write a portion. It replaces an earlier portion of that number."""

    @abstractmethod
    def freeze(self) -> None:
        """Hold the source still; wait if another revision does so. StaleBaseError if the base has changed."""

    @abstractmethod
    def is_moved(self, number: int) -> bool:
        """Whether a job of a portion has changed since the decision about it. Raises FreezeLostError."""

    @abstractmethod
    def count(self, portions: int, effect: Effect) -> None:
        """Make the revision count from now on. Raises FreezeLostError or StaleBaseError."""

    @abstractmethod
    def apply(self) -> None:
        """Write all portions into their jobs."""


class RevisionSession(OptimisticSession):
    """A session that can write revisions."""

    @abstractmethod
    def revision(self, source: str) -> str | None:
        """The revision that a source is at."""

    @abstractmethod
    def write_revision(self, step: Step, changes: Sequence[Change], effect: Effect) -> Collection[str]:
        """Write all or nothing. Returns the keys of jobs that have changed. Raises StaleBaseError."""

    @abstractmethod
    def stage(self, step: Step) -> Stage:
        """Begin a large revision."""


def reconcile(
    session: RevisionSession,
    step: Step,
    changes: Changes,
    declared: DecideDeclared,
    removed: DecideRemoved,
) -> tuple[Event, ...]:
    """Make the store agree with a source."""
    while True:
        found = session.revision(step.source)
        if found == step.revision:
            return ()
        if found != step.base:
            raise StaleRevisionError(step.source, step.base, found)
        try:
            return _Revision(session, step, _portions(session, step, changes, declared, removed)).write()
        except StaleBaseError:
            pass  # another process was quicker, perhaps with the same revision


class _Portion:
    """Some jobs of a revision, and the decisions about them."""

    def __init__(self, decide: Callable[[_Portion], None]) -> None:
        self._decide = decide
        self.decide()

    def decide(self) -> None:
        """Read the jobs, and decide about them."""
        self.changes: list[Change] = []
        self.events: list[Event] = []
        self.differences: Counter[Difference] = Counter()
        self.has_news = False
        self._decide(self)

    def note(self, before: Record | None, decision: Decision, change: Change | None) -> None:
        """Add a decision to the portion."""
        self.differences[difference_of(before.state if before else None, decision)] += 1
        self.has_news = self.has_news or is_news(before.state if before else None, decision)
        self.events += decision.events
        if change is not None:
            self.changes.append(change)


def _portions(
    session: RevisionSession,
    step: Step,
    changes: Changes,
    declared: DecideDeclared,
    removed: DecideRemoved,
) -> Iterator[_Portion]:
    """The jobs of a revision in portions. If a name comes several times, the last one counts."""
    jobs = list({job.key: job for job in changes.declared}.values())
    gone = [f"{step.source}/{name}" for name in dict.fromkeys(changes.removed)]
    for start in range(0, len(jobs), AT_ONCE):
        yield _Portion(_declare(session, step, jobs[start : start + AT_ONCE], declared))
    for start in range(0, len(gone), AT_ONCE):
        yield _Portion(_remove(session, step, gone[start : start + AT_ONCE], removed))


def _declare(
    session: RevisionSession, step: Step, jobs: Sequence[Job], decide: DecideDeclared
) -> Callable[[_Portion], None]:
    def declare(portion: _Portion) -> None:
        entries = session.entries([job.key for job in jobs])
        for job in jobs:
            entry = entries.get(job.key) or Entry(job.key)
            if entry.record is None and entry.remains is not None:
                entry.record = Record(job, *entry.remains)
            decision = decide(job, entry.record)
            if decision.remove and not entry.is_there:
                portion.note(None, decision, None)
                continue
            change = change_of(entry, decision, known_orders(session, entry, decision), job=job)
            portion.note(entry.record, decision, _with_past(session, step, entry, decision, change))

    return declare


def _remove(
    session: RevisionSession, step: Step, keys: Sequence[str], decide: DecideRemoved
) -> Callable[[_Portion], None]:
    def remove(portion: _Portion) -> None:
        for entry in session.entries(keys).values():
            if entry.record is None:  # its former state cannot be read
                gone = Change(entry=entry, before=None, after=None, past=session.past(entry.key))
                portion.changes.append(gone)
                continue
            decision = decide(entry.record)
            change = change_by(session, entry, decision)
            portion.note(entry.record, decision, _with_past(session, step, entry, decision, change))

    return remove


def _with_past(
    session: RevisionSession, step: Step, entry: Entry, decision: Decision, change: Change | None
) -> Change | None:
    """The change, with the definition that it ends, or with the history that it deletes."""
    if change is None:
        return None
    if decision.remove:
        change.past = change.past or session.past(entry.key)
    elif entry.record is not None and entry.remains is None:
        change.version = ended_version(entry.record, decision, step.revision)
    return change


class _Revision:
    """One revision under way: small until it turns out to be large."""

    def __init__(self, session: RevisionSession, step: Step, portions: Iterator[_Portion]) -> None:
        self._session = session
        self._step = step
        self._portions = portions
        self._all: list[_Portion] = []

    def write(self) -> tuple[Event, ...]:
        """Write the revision. Returns the events of its jobs."""
        changes = 0
        for portion in self._portions:
            self._all.append(portion)
            changes += len(portion.changes)
            if changes > AT_ONCE:
                self._write_staged(self._session.stage(self._step))
                break
        else:
            self._write_at_once()
        return tuple(event for portion in self._all for event in portion.events)

    @property
    def _effect(self) -> Effect:
        differences = sum((portion.differences for portion in self._all), Counter[Difference]())
        return Effect(differences, any(portion.has_news for portion in self._all))

    def _write_at_once(self) -> None:
        while True:
            changes = [change for portion in self._all for change in portion.changes]
            moved = self._session.write_revision(self._step, changes, self._effect)
            if not moved:
                return
            for portion in self._all:
                if any(change.key in moved for change in portion.changes):
                    portion.decide()

    def _write_staged(self, stage: Stage) -> None:
        for number, portion in enumerate(self._all):
            self._put(stage, number, portion)
        for portion in self._portions:
            self._all.append(portion)
            self._put(stage, len(self._all) - 1, portion)
        while not self._is_counted(stage):
            pass
        stage.apply()

    def _put(self, stage: Stage, number: int, portion: _Portion) -> None:
        stage.put(number, portion.changes)
        portion.changes = []  # the stage has them; to keep them would take much memory

    def _is_counted(self, stage: Stage) -> bool:
        stage.freeze()
        try:
            for number, portion in enumerate(self._all):
                while stage.is_moved(number):
                    portion.decide()
                    self._put(stage, number, portion)
            stage.count(len(self._all), self._effect)
        except FreezeLostError:
            return False
        return True
