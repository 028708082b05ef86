"""Ten thousand jobs, no two with the same rule, and the records in which the planner meets them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle, product
from random import Random

from benchmarks.cron.sample import SEED
from foliot.engine.plan_definition import plan_declared
from foliot.engine.planner import plan_due
from foliot.model.attempt import Ending, Outcome
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.model.state import Record
from foliot.schedules import Cron

NODE = "node-1"
START = datetime(2026, 3, 2, 8, 59, 30, tzinfo=UTC)
_LATENESS = timedelta(milliseconds=20)
_ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Sydney")
_DAYS = ("* * *", "* * 1-5", "* * 6", "1 * *", "1,15 * *", "* 1-6 *", "13 * 5")


def distinct_rules(count: int) -> list[Cron]:
    """Rules of which no two are equal."""
    expressions = [f"{minute} {hour} {days}" for minute, hour, days in product(range(60), range(24), _DAYS)]
    random = Random(SEED)  # noqa: S311 - a sample, not a secret
    return [
        Cron(expression, timezone=zone)
        for expression, zone in zip(random.sample(expressions, count), cycle(_ZONES), strict=False)
    ]


def make_jobs(rules: list[Cron], policy: Policy) -> list[Job]:
    """A job for each rule."""
    return [
        Job(
            source="code",
            name=f"team-{number % 100}/report-{number}",
            schedule=rule,
            action=Action(kind="shell", data={"command": f"report --number {number}"}),
            policy=policy,
        )
        for number, rule in enumerate(rules)
    ]


def declared(jobs: list[Job]) -> Iterator[Record]:
    """The jobs as they are after they were declared."""
    for job in jobs:
        yield Record(job, plan_declared(job, None, START).state)


def running(jobs: list[Job]) -> Iterator[Record]:
    """The jobs as they are while the run of their first occurrence is open."""
    for record in declared(jobs):
        decision = plan_due(record, wake_of(record), NODE)
        yield Record(record.job, decision.state, decision.attempts)


def wake_of(record: Record) -> datetime:
    """When a claim finds the job: a moment after its next occurrence."""
    next_at = record.state.next_at
    assert next_at is not None  # noqa: S101 - all rules of the sample go on for ever
    return next_at + _LATENESS


def ending(record: Record, outcome: Outcome) -> Ending:
    """What its node reports of the open run, a second after it started."""
    (attempt,) = record.attempts
    started_at = attempt.claimed_at or START
    finished_at = started_at + timedelta(seconds=1)
    return Ending(
        attempt.job, attempt.run_key, attempt.number, attempt.token, outcome, started_at, finished_at
    )
