"""Why: one answer for any job and any instant, from what is stored and what the rule says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.engine.foresight import Verdict, foresee
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.job import Action, Job
from foliot.model.state import Record, Skip, State
from foliot.protocols import JobView
from foliot.schedules import Cron

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOON = Cron("0 12 * * *")
JOB = Job(source="s", name="n", schedule=NOON, action=Action(kind="k"))
STATE = State(
    token=1,
    created_at=NOW - 10 * 24 * HOUR,
    wake_at=NOW + 24 * HOUR,
    served_until=NOW,
    next_at=NOW + 24 * HOUR,
)
RAN = Attempt(
    "s/n", 1, Trigger.SCHEDULE, AttemptState.ENDED, NOW - 24 * HOUR, node="a",
    started_at=NOW - 24 * HOUR + timedelta(seconds=0.25),
    outcome=Outcome.FAILED, error="ValueError: no\n  at x",
)  # fmt: skip
RUNNING = Attempt("s/n", 1, Trigger.SCHEDULE, AttemptState.RUNNING, NOW, node="b", claimed_at=NOW)
PENDING = RUNNING._replace(state=AttemptState.PENDING, wake_at=NOW + HOUR, reason="retry 1")
SKIP = Skip("s/n", NOW - 72 * HOUR, NOW - 48 * HOUR, "the job was paused")


def answer(
    at: datetime | None = None, job: Job = JOB, attempts: Any = (), **state: Any
) -> tuple[Verdict, str]:
    view = JobView(job.key, Record(job, STATE._replace(**state), tuple(attempts)))
    why = foresee(view, [RAN], [SKIP], kinds={"k"}, now=NOW, at=at)
    assert str(why) == why.text
    return why.verdict, why.text


NEXT = [
    ({}, Verdict.WILL_RUN, "2026-11-16T12:00:00Z is next, by 0 12 * * *"),
    ({"next_at": NOW}, Verdict.WILL_RUN, "2026-11-15T12:00:00Z is due, by 0 12 * * *"),
    ({"next_at": None}, Verdict.WILL_NOT, "no occurrence is left"),
    ({"paused_at": NOW}, Verdict.WILL_NOT, "it is paused since 2026-11-15T12:00:00Z"),
    ({"removed_at": NOW}, Verdict.WILL_NOT, "it was removed at 2026-11-15T12:00:00Z"),
    ({"job": replace(JOB, enabled=False)}, Verdict.WILL_NOT, "its definition switches it off"),
    (
        {"job": replace(JOB, action=Action(kind="other"))},
        Verdict.WILL_NOT,
        "its action other is not registered in this program",
    ),
    (
        {"attempts": [RUNNING]},
        Verdict.RUNS,
        "s/n@2026-11-15T12:00:00Z runs since 2026-11-15T12:00:00Z on node b",
    ),
    (
        {"attempts": [PENDING]},
        Verdict.WAITS,
        "s/n@2026-11-15T12:00:00Z waits until 2026-11-15T13:00:00Z: retry 1",
    ),
    (
        {"attempts": [PENDING._replace(wake_at=None)]},
        Verdict.WAITS,
        "s/n@2026-11-15T12:00:00Z waits until its job is free: retry 1",
    ),
]


@pytest.mark.parametrize(("facts", "verdict", "text"), NEXT)
def test_what_is_next(facts: Any, verdict: Verdict, text: str) -> None:
    assert answer(**facts) == (verdict, text)


AT = [
    (-24, Verdict.RAN, "attempt 1 failed on node a, started 0.250 s after its time: ValueError: no"),
    (-48, Verdict.SKIPPED, "skipped: the job was paused"),
    (-72, Verdict.SKIPPED, "skipped: the job was paused"),
    (-1, Verdict.WILL_NOT, "2026-11-15T11:00:00Z is no occurrence of 0 12 * * *"),
    (-24 * 11, Verdict.WILL_NOT, "the job is known only since 2026-11-05T12:00:00Z"),
    (-24 * 5, Verdict.UNKNOWN, "its history does not go back so far"),
    (24, Verdict.WILL_RUN, "2026-11-16T12:00:00Z is an occurrence of 0 12 * * *"),
    (
        25,
        Verdict.WILL_NOT,
        "2026-11-16T13:00:00Z is no occurrence of 0 12 * * *; the next one after it is 2026-11-17T12:00:00Z",
    ),
]


@pytest.mark.parametrize(("hours", "verdict", "text"), AT)
def test_an_instant(hours: int, verdict: Verdict, text: str) -> None:
    assert answer(NOW + hours * HOUR) == (verdict, text)


def test_an_occurrence_that_nobody_has_taken_yet() -> None:
    assert answer(NOW, served_until=NOW - 24 * HOUR)[0] is Verdict.WAITS


def test_what_lies_ahead_hangs_on_more_than_the_rule() -> None:
    at = NOW + 24 * HOUR
    assert answer(at, paused_at=NOW) == (
        Verdict.WILL_NOT,
        "unless that changes: it is paused since 2026-11-15T12:00:00Z",
    )
    ending = replace(JOB, repeat_until=NOW + HOUR)
    assert answer(at, job=ending) == (Verdict.WILL_NOT, "it repeats only until 2026-11-15T13:00:00Z")


def test_a_run_that_stands_for_several_occurrences() -> None:
    catch_up = RAN._replace(covers_from=NOW - 96 * HOUR, error=None, outcome=Outcome.SUCCEEDED)
    view = JobView("s/n", Record(JOB, STATE))
    why = foresee(view, [catch_up], [], kinds=None, now=NOW, at=NOW - 72 * HOUR)
    assert why.text.startswith("attempt 1 succeeded by the run of 2026-11-14T12:00:00Z")


def test_a_record_that_cannot_be_read() -> None:
    why = foresee(JobView("s/n", None, damage="not JSON"), [], [], kinds=None, now=NOW)
    assert (why.verdict, why.text) == (
        Verdict.WILL_NOT,
        "its record cannot be read: not JSON; declare it anew",
    )
