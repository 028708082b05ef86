"""Explains a past instant: its attempts, or why it was skipped, and which run was open."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from foliot.model.attempt import Attempt, format_instant
from foliot.model.policy import OverlapMode
from foliot.model.splay import offset_of
from foliot.model.state import OVERLAP, Problem, Record, Skip
from foliot.model.view import Outage
from foliot.schedules import Schedule
from foliot.why.answer import Verdict, Why, no_occurrence, obstacle, time_text
from foliot.why.chain import followed_words
from foliot.why.waiting import GroupCount, group_words, outage_at, outage_words

_MOST_TOLD = 5  # attempts of one run


class Traces(NamedTuple):
    """The history of a job and of the nodes. `group`: the job's group now.

    The attempts of one run follow each other, as in every list of a store.
    """

    runs: Sequence[Attempt] = ()
    skips: Sequence[Skip] = ()
    outages: Sequence[Outage] = ()
    group: GroupCount | None = None


def past(record: Record, traces: Traces, at: datetime) -> Why:
    """Explain a past instant."""
    schedule, state, start_at = record.job.schedule, record.state, at + offset_of(record.job)
    if attempts := attempts_for(at, traces.runs, schedule):
        late = late_words(attempts[-1], traces.outages, start_at)
        words = _ran_words(attempts, at) + _splay_words(record) + late
        return Why(_verdict(attempts[0]), words + followed_words(record.job, attempts[0]), at)
    if skip := skip_of(at, traces.skips, schedule):
        missed = outage_words(traces.outages, start_at) if skip.problem is Problem.MISSED else ""
        return Why(Verdict.SKIPPED, _skip_words(skip, traces.runs, start_at) + missed, at)
    if not schedule.matches(at):
        return Why(Verdict.WILL_NOT, no_occurrence(record.job, at), at)
    if at < state.created_at:
        return Why(Verdict.WILL_NOT, f"the job is known only since {time_text(state.created_at)}", at)
    if state.served_until is not None and at <= state.served_until:
        return Why(Verdict.UNKNOWN, "its history does not go back so far", at)
    reason = obstacle(record, None)
    waits = f"it has come, and {group_words(traces.group) or 'no node has taken it yet'}"
    running = next((attempt for attempt in record.attempts if attempt.is_running), None)
    if running is not None:
        waits = f"it has come while {running.run_key} is still open{_fate(record)}"
    return Why(Verdict.WILL_NOT if reason else Verdict.WAITS, reason or waits, at)


def late_words(first: Attempt, outages: Sequence[Outage], start_at: datetime) -> str:
    """The outage that delayed a run; empty if there was none."""
    found = outage_at(outages, start_at)
    was_late = found is not None and first.claimed_at is not None and first.claimed_at >= found.last
    return outage_words(outages, start_at) if was_late else ""


def _fate(record: Record) -> str:
    """What happens to an occurrence that comes while a run is open."""
    mode = record.job.policy.overlap.mode
    return {OverlapMode.SKIP: ": it will be skipped", OverlapMode.WAIT: ", and waits for its end"}.get(
        mode, ""
    )


def _verdict(last: Attempt) -> Verdict:
    if last.is_open:
        return Verdict.RUNS if last.is_running else Verdict.WAITS
    return Verdict.SKIPPED if last.node is None else Verdict.RAN


def attempts_for(at: datetime, runs: Sequence[Attempt], schedule: Schedule) -> list[Attempt]:
    """The attempts at the run that served an occurrence, newest first; none if no run did."""
    found = [
        attempt
        for attempt in runs
        if attempt.request is None
        and _is_among(at, attempt.covers_from or attempt.scheduled_for, attempt.scheduled_for, schedule)
    ]
    # Its own run counts more than a later run that covered several occurrences.
    served = min((attempt.scheduled_for for attempt in found), default=at)
    own = [attempt for attempt in found if attempt.scheduled_for == served]
    return sorted(own, key=lambda attempt: attempt.number, reverse=True)


def skip_of(at: datetime, skips: Sequence[Skip], schedule: Schedule) -> Skip | None:
    """The skip that an occurrence is part of."""
    return next((skip for skip in skips if _is_among(at, skip.first, skip.last, schedule)), None)


def _is_among(at: datetime, first: datetime, last: datetime, schedule: Schedule) -> bool:
    """Whether an instant is an occurrence of a range: the first, the last, or one of the rule between."""
    return at in (first, last) or (first < at < last and schedule.matches(at))


def _ran_words(attempts: Sequence[Attempt], at: datetime) -> str:
    """The attempts of a run in words, the newest first."""
    for_several = "" if at == attempts[0].scheduled_for else _by_another(attempts[0])
    told = [_attempt_words(attempt) for attempt in attempts[:_MOST_TOLD]]
    if len(attempts) > _MOST_TOLD:
        told.append(f"{len(attempts) - _MOST_TOLD} before")
    return for_several + "; ".join(told)


def _by_another(attempt: Attempt) -> str:
    return f"served by the run of {format_instant(attempt.scheduled_for)}: "


def _attempt_words(attempt: Attempt) -> str:
    name = f"attempt {attempt.number}"
    if attempt.is_running:
        return f"{name} is {attempt.state} on node {attempt.node} since {time_text(attempt.claimed_at)}"
    if attempt.is_open:
        return f"{name} waits until {time_text(attempt.wake_at)}: {attempt.reason}"
    if attempt.node is None:
        return f"{name} never started: {attempt.reason}"
    error = f": {attempt.error.splitlines()[0]}" if attempt.error else ""
    outcome = str(attempt.outcome).replace("_", " ")
    return f"{name} {outcome} on node {attempt.node}{_start_words(attempt)}{error}"


def _start_words(attempt: Attempt) -> str:
    """How late it started; for a retry, which has no scheduled time, when it started."""
    if attempt.started_at is None:
        return ""
    if attempt.number > 1:
        return f", started at {time_text(attempt.started_at)}"
    late = (attempt.started_at - attempt.scheduled_for).total_seconds()
    return f", started {late:.3f} s after its time"


def _splay_words(record: Record) -> str:
    offset = offset_of(record.job)
    return f"; by its splay it starts {offset.total_seconds():.0f} s after its time" if offset else ""


def _skip_words(skip: Skip, runs: Sequence[Attempt], start_at: datetime) -> str:
    """Why an occurrence was skipped, which others were, and which run was open then."""
    text = f"skipped: {skip.reason}"
    if skip.reason == OVERLAP and (run := _in_the_way(runs, start_at)):
        text = f"skipped: {run} was still open"
    if skip.first < skip.last:
        text += f"; so were all from {format_instant(skip.first)} to {format_instant(skip.last)}"
    return text


def _in_the_way(runs: Sequence[Attempt], at: datetime) -> str:
    """The run that was open at an instant, and for how long. A run that waits for its retry is open, too."""
    for _, group in groupby(runs, key=lambda attempt: (attempt.scheduled_for, attempt.request)):
        attempts = list(group)
        begins = [attempt.claimed_at for attempt in attempts if attempt.claimed_at is not None]
        ends = [attempt.finished_at for attempt in attempts if attempt.finished_at is not None]
        is_open = any(attempt.is_open for attempt in attempts)
        if begins and min(begins) <= at and (is_open or (ends and at <= max(ends))):
            until = "until now" if is_open else f"until {time_text(max(ends))}"
            return f"{attempts[0].run_key} (from {time_text(min(begins))} {until})"
    return ""
