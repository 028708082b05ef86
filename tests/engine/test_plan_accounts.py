"""Rule 4: every occurrence leaves a trace, exactly one: a run, or its place in a skip range."""

from __future__ import annotations

from datetime import datetime

from hypothesis import given

from engine.plan_cases import Life, Step
from engine.plan_lives import TICK, lives
from foliot.engine.calendar import next_occurrence
from foliot.model.attempt import Trigger
from foliot.model.job import Job
from foliot.model.policy import OnChange


class Accounts:
    """Which occurrences a job has had, found by asking its rule for one after the other, and their traces."""

    def __init__(self) -> None:
        self.eras: list[tuple[Job, datetime, datetime | None]] = []
        self.traces: list[tuple[datetime, datetime]] = []

    def add(self, step: Step) -> None:
        """Take down what a decision leaves behind."""
        self._add_era(step)
        known = {attempt.key for attempt in (step.before.attempts if step.before else ())}
        for attempt in step.decision.attempts:
            is_new = attempt.key not in known
            if is_new and attempt.trigger in (Trigger.SCHEDULE, Trigger.CATCH_UP):
                self.traces.append((attempt.covers_from or attempt.scheduled_for, attempt.scheduled_for))
        self.traces += ((skip.first, skip.last) for skip in step.decision.skips)

    def _add_era(self, step: Step) -> None:
        """A rule is in force until the job changes it or is removed."""
        served = step.decision.state.served_until
        assert served is not None
        if not self.eras:
            self.eras.append((step.job, served, None))
        elif step.what in ("declare", "remove") and step.before is not None:
            was_removed = step.before.state.removed_at is not None
            rules = [(job.schedule, job.repeat_until) for job in (step.before.job, step.job)]
            if was_removed or step.what == "remove" or rules[0] != rules[1]:
                job, since, until = self.eras[-1]
                self.eras[-1] = job, since, until or step.at
                self.eras += [(step.job, step.at, None)] if step.what == "declare" else []

    def check(self, served_until: datetime) -> None:
        """Every occurrence has one trace, and every trace begins and ends with an occurrence."""
        occurrences: set[datetime] = set()
        for job, since, until in self.eras:
            at = next_occurrence(job, since)
            while at is not None and at <= min(until or served_until, served_until):
                occurrences.add(at)
                at = next_occurrence(job, at)
        traces = {at: [t for t in self.traces if t[0] <= at <= t[1]] for at in occurrences}
        assert {at: found for at, found in traces.items() if len(found) != 1} == {}
        assert occurrences.issuperset(at for trace in self.traces for at in trace)


# A change that counts from the last attempt moves the new rule's beginning back: the law below is for it.
@given(lives(on_change=OnChange.NOW))
def test_every_occurrence_is_accounted_for_exactly_once(life: Life) -> None:
    accounts = Accounts()
    for step in life.steps:
        begins_anew = step.before and step.decision.state.created_at != step.before.state.created_at
        if step.before is None or begins_anew:
            accounts = Accounts()
        accounts.add(step)
        if step.after is None or step is life.steps[-1]:
            assert step.decision.state.served_until is not None
            accounts.check(step.decision.state.served_until)


@given(lives(on_change=OnChange.LAST))
def test_a_change_of_the_rule_settles_what_the_old_one_owed(life: Life) -> None:
    """It is skipped, or lies among what the new rule owes, or one run makes it good; exactly one of these."""
    for step in life.steps:
        before, after = step.before, step.after
        if step.what != "declare" or before is None or after is None or before.state.removed_at:
            continue
        old, new = before.job, after.job
        if not (old.enabled and new.enabled) or (old.schedule, old.repeat_until) == (
            new.schedule, new.repeat_until,
        ):  # fmt: skip
            continue
        served, next_at = before.state.served_until, after.state.next_at
        assert served is not None
        owed = occurrences(new, next_at - TICK, step.at) if next_at and next_at <= step.at else []
        skips = step.decision.skips
        runs = [
            (a.covers_from or a.scheduled_for, a.scheduled_for) for a in step.decision.attempts if a.is_open
        ]
        for at in occurrences(old, served, step.at):
            is_skipped = any(skip.first <= at <= skip.last for skip in skips)
            is_owed = bool(owed) and owed[0] <= at <= owed[-1]
            is_run = any(first <= at <= last for first, last in runs)
            assert is_skipped + is_owed + is_run == 1, step
        for at in owed:
            assert not any(skip.first <= at <= skip.last for skip in skips), step


def occurrences(job: Job, after: datetime, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    at = next_occurrence(job, after)
    while at is not None and at <= until:
        found.append(at)
        at = next_occurrence(job, at)
    return found
