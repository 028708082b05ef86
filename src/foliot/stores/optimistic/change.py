"""Computes the writes of one decision: a pure function of entry and decision, without the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from foliot.model.attempt import Attempt, Outcome
from foliot.model.damage import Damage
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.outbox import ChannelAlert
from foliot.model.state import Record, Skip
from foliot.model.version import Version
from foliot.stores.optimistic.entry import Entry, Name, Tally, name_of
from foliot.stores.sql.codes import micros, whole


@dataclass(slots=True, kw_only=True)
class Change:
    """The write of one job. It counts only if the job has not changed since its entry was read.

    `before` is the record as it was read. `after` is None if the job is deleted; then `past` is its history,
    which is deleted, too. `moved`: attempts before and after the change, for indices. `ended`: attempts that
    end, each with its order of opening. `aside`: the job is only set aside, and nothing else changes.
    """

    entry: Entry
    before: Record | None
    after: Record | None
    tally: Tally = field(default_factory=Tally)
    orders: tuple[int, ...] = ()
    moved: Sequence[tuple[Attempt | None, Attempt]] = ()
    ended: Sequence[tuple[Attempt, int]] = ()
    skips: Sequence[Skip] = ()
    alerts: Sequence[ChannelAlert] = ()
    is_defined: bool = False
    version: Version | None = None
    aside: Damage | None = None
    past: Past | None = None

    @property
    def key(self) -> str:
        """The job."""
        return self.entry.key

    @property
    def group_starts(self) -> list[Attempt]:
        """The attempts that start now, if the job is one of a group."""
        if self.after is None or self.after.job.group is None:
            return []
        return [now for was, now in self.moved if now.is_running and not (was and was.is_running)]


@dataclass(slots=True, frozen=True)
class Past:
    """The history of a job: ended attempts, each with its order of opening, and skips."""

    attempts: tuple[tuple[Attempt, int], ...] = ()
    skips: tuple[Skip, ...] = ()


def set_aside(entry: Entry, damage: Damage) -> Change:
    """The job is taken out of service until it is declared anew."""
    return Change(entry=entry, before=entry.record, after=entry.record, aside=damage)


def change_of(
    entry: Entry, decision: Decision, known: Mapping[Name, int], *, job: Job | None = None
) -> Change | None:
    """The change of a decision; None if it writes nothing.

    `known`: ended attempts, each with its order of opening.

    `job`: the new definition, if one is declared now.
    """
    record = entry.record
    kept = decision.job or job
    is_defined = kept is not None and (
        record is None or entry.damage is not None or is_other(kept, record.job)
    )
    if record is not None and not is_defined and decision.is_nothing(record):
        return None
    after = kept or (record.job if record else None)
    if after is None:
        raise ValueError(f"{entry.key}: the job has no definition")
    if decision.remove:
        return Change(entry=entry, before=record, after=None, alerts=decision.alerts)
    opening = _Opening(entry, after, known)
    for attempt in decision.attempts:
        opening.take(attempt)
    if is_defined and record is not None and record.job.policy.keep != after.policy.keep:
        opening.tally = opening.tally._replace(trim_at=0)  # it may keep less than before
    return Change(
        entry=entry,
        before=record,
        after=Record(after, decision.state, tuple(opening.attempts.values())),
        tally=opening.tally.skipped(after.policy.keep, decision.skips),
        orders=tuple(opening.orders[name] for name in opening.attempts),
        moved=opening.moved,
        ended=opening.ended,
        skips=decision.skips,
        alerts=decision.alerts,
        is_defined=is_defined,
    )


def is_other(job: Job, before: Job) -> bool:
    """Whether a definition differs from the stored one."""
    if job is before:
        return False
    return not job.says_the_same(before) or job.revision != before.revision or job.extra != before.extra


class _Opening:
    """The open attempts of a job, while the attempts of a decision are added one by one."""

    def __init__(self, entry: Entry, job: Job, known: Mapping[Name, int]) -> None:
        attempts = entry.record.attempts if entry.record else ()
        self.attempts = {name_of(attempt): attempt for attempt in attempts}
        self.orders = dict(zip(self.attempts, entry.orders, strict=True))
        self.tally = entry.tally
        self.moved: list[tuple[Attempt | None, Attempt]] = []
        self.ended: list[tuple[Attempt, int]] = []
        self._known = known
        self._keep = job.policy.keep

    def take(self, attempt: Attempt) -> None:
        """Add an attempt that is new, or has changed."""
        name = name_of(attempt)
        before = self.attempts.get(name)
        order = self.orders.get(name) or self._known.get(name) or self._open(attempt)
        if before is not None or attempt.is_running or name not in self._known:
            self.moved.append((before, attempt))
        if attempt.is_open:
            self.attempts[name], self.orders[name] = attempt, order
            return
        self.attempts.pop(name, None)
        self.orders.pop(name, None)
        self.ended.append((attempt, order))
        self._end(attempt)

    def _open(self, attempt: Attempt) -> int:
        # By position: a call with names would cost as much as all the rest.
        opened, entries, trim_at, look_at, newest, last_success = self.tally.grown(self._keep, 1)
        at = whole(attempt.scheduled_for)
        newest = at if newest is None else max(at, newest)
        self.tally = Tally(opened + 1, entries, trim_at, look_at, newest, last_success)
        return opened + 1

    def _end(self, attempt: Attempt) -> None:
        end = micros(attempt.finished_at)
        if end is None:
            return
        self.tally = self.tally.aged(self._keep, end)
        if attempt.outcome is Outcome.SUCCEEDED:
            self.tally = self.tally._replace(last_success=max(end, self.tally.last_success or end))
