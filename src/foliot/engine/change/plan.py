"""`plan_change`: what a reconcile would do to jobs and runs, without doing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from foliot.engine.change.clocks import Clocks
from foliot.engine.change.deed import Deed, declare, remove
from foliot.engine.change.effects import Case, Teller
from foliot.engine.change.effort import LOOK, MOST_EFFORT, Effort
from foliot.engine.change.fields import changed_fields
from foliot.engine.change.herd import find_herd, herd_effects
from foliot.engine.change.model import (
    NOTHING_KNOWN,
    ChangePlan,
    Code,
    JobChange,
    Kind,
    Known,
    RunChange,
    joined,
    note,
)
from foliot.engine.change.runs import Walker, is_live
from foliot.engine.change.words import zone_of
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.model.version import Change
from foliot.protocols import Snapshot

_NOT_LOOKED_AT = note(
    Code.TRUNCATED,
    "its runs are not counted: the plan is too large; give a shorter horizon, or fewer jobs",
)
_NO_HERD = note(Code.TRUNCATED, "the busiest minutes are not computed: the plan is too large")
_ORDER = (Kind.CHANGED, Kind.RENAMED, Kind.ADDED, Kind.REMOVED)


def plan_change(  # noqa: PLR0913, PLR0917 - both sides, the time, and what is known beside
    source: str,
    records: Mapping[str, Record],
    after: Snapshot,
    now: datetime,
    until: datetime,
    known: Known = NOTHING_KNOWN,
    most: int = MOST_EFFORT,
) -> ChangePlan:
    """The plan if a source declares a snapshot at one instant. Runs are compared up to another instant.

    `records`: all records of the source by name, removed jobs included. `most`: the budget of the plan in
    steps (see `effort`). A part that is left out has the effect `truncated`.
    """
    effort = Effort(most)
    deeds, unchanged = _deeds(records, after, now, known)
    changes = _Changes(now, until, known, effort)
    jobs = [changes.job(kind, deed) for kind, deed in _with_renames(deeds)]
    switch = joined(deed.switch for deed in deeds)
    plan = ChangePlan(source, now, until, _in_order(jobs), unchanged, switch, zone=_usual_zone(after.jobs))
    return plan if not jobs else _with_herd(plan, records, after, deeds, known, effort)


def _deeds(
    records: Mapping[str, Record], after: Snapshot, now: datetime, known: Known
) -> tuple[list[Deed], int]:
    """The deeds of all jobs that change, and the number of jobs that do not."""
    deeds: list[Deed] = []
    unchanged = 0
    for job in after.jobs:
        record = records.get(job.name)
        if record is not None and record.state.removed_at is None and job.says_the_same(record.job):
            unchanged += 1
            continue
        deed = declare(job, None if record is None else known.prepare(record), now)
        if deed.change is not Change.NONE:
            deeds.append(deed)
    stays = {job.name for job in after.jobs}
    gone = (record for name, record in records.items() if name not in stays)
    deeds += (remove(known.prepare(record), now) for record in gone if record.state.removed_at is None)
    return deeds, unchanged


class _Changes:
    """Makes the change of each job. Values that all jobs share are computed once."""

    def __init__(self, now: datetime, until: datetime, known: Known, effort: Effort) -> None:
        self._now, self._effort = now, effort
        self._walker, self._clocks = Walker(until, effort), Clocks(now, effort)
        self._teller = Teller(now, until, known, effort)

    def job(self, kind: Kind, deed: Deed) -> JobChange:
        """The change of one job."""
        was_there = deed.before is not None and deed.before.state.removed_at is None
        before = deed.before if was_there else None
        after = None if kind is Kind.REMOVED else deed.after
        record = after or before
        assert record is not None  # noqa: S101 - a deed is about a job
        zone = zone_of(record.job.schedule)
        fields = changed_fields(before.job, after.job) if before and after and kind is Kind.CHANGED else ()
        renamed = before.job.name if kind is Kind.RENAMED and before else None
        next_at = after.state.next_at if after else None
        if self._effort.is_spent:
            return JobChange(
                record.job.name, kind, fields, RunChange(compared_until=self._now), effects=(_NOT_LOOKED_AT,),
                next_at=next_at, zone=zone, old_name=renamed,
            )  # fmt: skip
        self._effort.take(LOOK)
        old, new = self._walker.starts(before), self._walker.starts(after)
        compared = self._walker.compare(old, new, zone)
        case = Case(kind, deed, before, after, old, new, compared, fields)
        rules = (side.job.schedule if side else None for side in (before, after))
        found = self._clocks.compare(*rules)
        return JobChange(
            record.job.name, kind, fields, compared.runs, compared.first, compared.sample,
            (*self._teller.effects(case), *found.effects), found.new, found.resolved,
            next_at, zone, renamed,
        )  # fmt: skip


def _with_renames(deeds: Iterable[Deed]) -> list[tuple[Kind, Deed]]:
    """A removed and a new job are a rename, if only these two have the same definition."""
    added: dict[object, list[Deed]] = {}
    removed: dict[object, list[Deed]] = {}
    found: list[tuple[Kind, Deed]] = []
    for deed in deeds:
        if deed.change is Change.CHANGED:
            found.append((Kind.CHANGED, deed))
        elif deed.change is Change.ADDED and deed.after is not None:
            added.setdefault(_essence(deed.after.job), []).append(deed)
        elif deed.before is not None:
            removed.setdefault(_essence(deed.before.job), []).append(deed)
    for essence, come in added.items():
        gone = removed.get(essence, [])
        if len(come) == len(gone) == 1:
            del removed[essence]
            both = joined((gone[0].switch, come[0].switch))
            found.append((Kind.RENAMED, come[0]._replace(before=gone[0].before, switch=both)))
        else:
            found += ((Kind.ADDED, deed) for deed in come)
    found += ((Kind.REMOVED, deed) for gone in removed.values() for deed in gone)
    return found


def _essence(job: Job) -> object:
    """The definition of a job without its name."""
    data = {name: value for name, value in job.action.data.items() if name not in ("name", "description")}
    policy = replace(job.policy, ping=None if job.policy.ping is None else "ping")
    return (
        job.schedule,
        job.action.kind,
        repr(sorted(data.items())),
        policy,
        job.queue,
        job.enabled,
        job.group,
    )


def _in_order(jobs: list[JobChange]) -> tuple[JobChange, ...]:
    return tuple(sorted(jobs, key=lambda change: _ORDER.index(change.kind)))


def _usual_zone(jobs: Iterable[Job]) -> str:
    zones = Counter(zone_of(job.schedule) for job in jobs)
    return zones.most_common(1)[0][0] if zones else "UTC"


def _with_herd(  # noqa: PLR0913, PLR0917 - both sides, what is known, and what may be spent
    plan: ChangePlan,
    records: Mapping[str, Record],
    after: Snapshot,
    deeds: list[Deed],
    known: Known,
    effort: Effort,
) -> ChangePlan:
    before = [record.job for record in records.values() if is_live(record)]
    changed = {deed.after.job.name: deed.after for deed in deeds if deed.after is not None}
    sides = ((job, changed.get(job.name) or records.get(job.name)) for job in after.jobs)
    becomes = [job for job, record in sides if record is not None and is_live(record._replace(job=job))]
    slots = None if known.slots is None else sum(known.slots.values())
    herd = find_herd(before, becomes, plan.at, plan.until, slots, effort)
    if herd is None:
        return plan._replace(effects=(*plan.effects, _NO_HERD))
    return plan._replace(herd=herd, effects=(*plan.effects, *herd_effects(herd, plan.zone)))
