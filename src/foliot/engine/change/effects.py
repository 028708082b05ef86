"""The effects of one job's change, as sentences, each with a code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from foliot.engine.change.days import day_effects, gap_effects
from foliot.engine.change.deed import Deed, starts_at
from foliot.engine.change.effort import PROJECT, Effort
from foliot.engine.change.fields import ENV, changed_variables
from foliot.engine.change.model import Code, FieldChange, Kind, Known, PlanEffect, note, warning
from foliot.engine.change.runs import Comparison, Starts, is_live
from foliot.engine.change.words import counted, moment, percentile, span, zone_of
from foliot.engine.project import MOST_STEPS, Durations, overlaps_in, project
from foliot.model.attempt import Attempt, Trigger, format_instant
from foliot.model.job import Job
from foliot.model.policy import OverlapMode
from foliot.model.state import Record

_FIRST = 2  # runs that may be due already
_AGAIN = (Trigger.RETRY, Trigger.LOST)
_COMMAND = ("action", "run", "shell", "stdin", "working_dir", "user", "secrets", "env_file", "exit_codes")
_NOT_POLICY = (
    *_COMMAND, ENV, "schedule", "timezone", "enabled", "repeat_until", "name", "description",
    "queue", "group", "auto_remove",
)  # fmt: skip
_FATES = {
    OverlapMode.SKIP: "and are skipped",
    OverlapMode.WAIT: "and wait, or are skipped",
    OverlapMode.REPLACE: "and end it",
    OverlapMode.PARALLEL: "and run beside it",
}


class Case(NamedTuple):
    """One job before and after the change. `after` is None if the job is gone."""

    kind: Kind
    deed: Deed
    before: Record | None
    after: Record | None
    old: Starts
    new: Starts
    compared: Comparison
    fields: tuple[FieldChange, ...]

    @property
    def zone(self) -> str:
        """The zone for the times in sentences."""
        record = self.after or self.before
        return "UTC" if record is None else zone_of(record.job.schedule)


class Teller:
    """Finds the effects, job by job. The steps of all projections together are bounded."""

    def __init__(self, now: datetime, until: datetime, known: Known, effort: Effort) -> None:
        self._now, self._until, self._known, self._effort = now, until, known, effort
        self._steps_left = MOST_STEPS

    def effects(self, case: Case) -> Iterator[PlanEffect]:
        """All effects of one job."""
        yield from _kind_effects(case)
        yield from self._switch_effects(case)
        if case.before is not None and case.after is not None:
            yield from self._run_effects(case, case.before, case.after)
            yield from _field_effects(case, case.before.job, case.after.job)
        if case.after is not None:
            yield from self._likely_effects(case, case.after)
        if case.compared.runs.compared_until is not None:
            until = moment(case.compared.runs.compared_until, case.zone)
            yield note(Code.TRUNCATED, f"runs after {until} are counted, but not compared")

    # -- the moment of the change ------------------------------------------------------------------

    def _switch_effects(self, case: Case) -> Iterator[PlanEffect]:
        switch = case.deed.switch
        before = {(one.run, one.number) for one in starts_at(case.before, self._now)}
        for start in switch.starts:
            if (start.run, start.number) not in before:
                yield warning(Code.CATCH_UP_NOW, f"{start.run} starts at once: {start.reason}", self._now)
        for skip in switch.skips:
            when = moment(skip.first, case.zone)
            many = "" if skip.first == skip.last else f" to {moment(skip.last, case.zone)}"
            yield note(Code.SKIPS, f"{when}{many} is recorded as skipped: {skip.reason}", skip.first)
        if switch.drops:
            waits = "1 run waits" if len(switch.drops) == 1 else f"{len(switch.drops):,} runs wait"
            yield warning(Code.DROPS_PENDING, f"{waits} and will not start: {', '.join(switch.drops[:3])}")
        if case.after is not None:
            for attempt in _kept(case):
                yield from _open_effect(attempt)

    # -- the runs to come --------------------------------------------------------------------------

    def _run_effects(self, case: Case, before: Record, after: Record) -> Iterator[PlanEffect]:
        zone, runs = case.zone, case.compared.runs
        if after.state.paused_at is not None:
            yield note(Code.PAUSED_NO_EFFECT, "it is paused: no run moves until it is resumed")
            return
        if before.job.enabled != after.job.enabled:
            code, words = (
                (Code.SWITCHED_ON, f"it is switched on: {counted(runs.after, 'run')}")
                if after.job.enabled
                else (Code.SWITCHED_OFF, f"it is switched off: {counted(runs.before, 'run')} go")
            )
            yield note(code, words)
            return
        if is_live(before) and is_live(after) and before.state.next_at and after.state.next_at is None:
            yield warning(Code.NO_LONGER_RUNS, "it has no occurrence any more")
        if runs.moved:
            yield note(Code.MOVED, _moved_words(case))
        if runs.before != runs.after:
            code = Code.DENSER if runs.after > runs.before else Code.SPARSER
            yield note(code, f"{runs.before:,} runs become {runs.after:,}")
        if before.job.schedule != after.job.schedule:
            yield from day_effects(before, after, case.new, self._now, zone)
            yield from gap_effects(before, case.old.times, case.new.times, self._now, zone)

    def _likely_effects(self, case: Case, after: Record) -> Iterator[PlanEffect]:
        """Likely effects, by the durations of past runs; and whether a node serves the job."""
        job, before = after.job, case.before
        took = self._known.durations.get(job.key if before is None else before.job.key, ())
        if took and (before is None or before.job.policy.timeout != job.policy.timeout):
            yield from _timeout_effect(job, took)
        is_told = took and self._steps_left > 0 and is_live(after)
        if is_told and not self._ends_in_time(case.new, after, max(took)):
            yield from self._overlap_effect(after, took)
        is_elsewhere = before is None or _place(before.job) != _place(job)
        if self._known.is_served is not None and is_elsewhere and not self._known.is_served(job):
            text = f"no living node serves the queue {job.queue} and the action {job.action.kind}"
            yield warning(Code.UNSERVED, text)

    def _ends_in_time(self, starts: Starts, after: Record, longest: timedelta) -> bool:
        """Whether each run ends before the next one comes: then no step of a projection is needed."""
        if after.attempts or starts.until is not None:
            return False
        times = [max(at, self._now) for at in starts.times[:_FIRST]] + starts.times[_FIRST:]
        return all(later - earlier > longest for earlier, later in pairwise(times))

    def _overlap_effect(self, after: Record, took: Sequence[timedelta]) -> Iterator[PlanEffect]:
        most = max(1, min(self._steps_left, self._effort.left // PROJECT))
        found = project(after, Durations({after.job.key: took}), self._now, self._until, most)
        self._steps_left -= found.steps
        self._effort.take(PROJECT * found.steps)
        if found.is_truncated:
            yield note(Code.TRUNCATED, "its overlaps are computed for a part of the time only")
        met = overlaps_in(after, found.runs, found.skips)
        if not met:
            return
        slow = span(percentile(took))
        fate = _FATES[after.job.policy.overlap.mode]
        text = f"about {counted(met, 'run')} come while one is open, {fate} (p95 of its runs: {slow})"
        yield warning(Code.OVERLAP_LIKELY, text)


def _kept(case: Case) -> list[Attempt]:
    keeps = set(case.deed.switch.keeps)
    return [attempt for attempt in (case.after.attempts if case.after else ()) if attempt.run_key in keeps]


def _open_effect(attempt: Attempt) -> Iterator[PlanEffect]:
    if attempt.is_running:
        yield note(Code.OPEN_UNCHANGED, f"{attempt.run_key} runs on with the old definition")
    elif attempt.trigger in _AGAIN:
        at = "" if attempt.wake_at is None else f" at {format_instant(attempt.wake_at)}"
        yield note(Code.RETRY_CHANGES, f"the waiting retry of {attempt.run_key}{at} uses the new definition")


def _kind_effects(case: Case) -> Iterator[PlanEffect]:
    count, zone = case.new.total, case.zone
    if case.kind is Kind.ADDED:
        first = f", first {moment(case.new.times[0], zone)}" if case.new.times else ""
        yield note(
            Code.ADDED, f"{counted(count, 'run')}{first}", case.new.times[0] if case.new.times else None
        )
    elif case.kind is Kind.REMOVED and case.before is not None:
        days = case.before.job.policy.keep.days
        stays = "history stays" + ("" if days is None else f" {counted(days, 'day')}")
        yield note(Code.REMOVED, f"{counted(case.old.total, 'run')} go; {stays}")
    elif case.kind is Kind.RENAMED and case.before is not None and case.after is not None:
        text = (
            f"{case.before.job.name} becomes {case.after.job.name}: its history, its pause and what it has "
            "served stay with the old name"
        )
        yield warning(Code.RENAMED, text)


def _moved_words(case: Case) -> str:
    runs = case.compared.runs
    if runs.shift is None:
        return f"{counted(runs.moved, 'run')} move"
    direction = "earlier" if runs.shift.days < 0 else "later"
    subject = "each moves" if runs.moved >= runs.after - runs.added else f"{counted(runs.moved, 'run')} move"
    return f"{subject} {span(runs.shift)} {direction}"


def _field_effects(case: Case, before: Job, after: Job) -> Iterator[PlanEffect]:
    names = [one.field for one in case.fields]
    if "timezone" in names:
        yield note(
            Code.ZONE_CHANGED, f"its times are of {zone_of(after.schedule)}, not {zone_of(before.schedule)}"
        )
    if commands := [name for name in names if name in _COMMAND]:
        yield note(Code.COMMAND_CHANGED, f"what it does changes: {', '.join(commands)}")
    if variables := changed_variables(before, after):
        yield note(Code.ENV_CHANGED, f"variables change: {', '.join(variables)}")
    if policies := [name for name in names if name not in _NOT_POLICY]:
        yield note(Code.POLICY_CHANGED, f"how it behaves changes: {', '.join(policies)}")


def _timeout_effect(job: Job, took: Sequence[timedelta]) -> Iterator[PlanEffect]:
    timeout, known = job.policy.timeout, list(took)
    longer = 0 if timeout is None else sum(one > timeout for one in known)
    if longer:
        slow = span(percentile(known))
        many = f"{longer} of its last {counted(len(known), 'successful run')}"
        yield warning(Code.TIMEOUT_SHORT, f"{many} took longer than the new timeout (p95 {slow})")


def _place(job: Job) -> tuple[str, str]:
    return job.queue, job.action.kind
