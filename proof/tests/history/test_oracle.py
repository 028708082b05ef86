"""The checker's own oracle agrees with a walk through every minute, and with the schedules it judges."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from foliot.model.job import Action, Job
from foliot.schedules import Cron, Every, Once, Schedule
from foliot_proof.history import Rule, define
from foliot_proof.history.oracle import latest, occurrences, tick
from oracle import AWKWARD_ZONES, read, walk

EXPRESSIONS = (
    "* * * * *",
    "*/5 * * * *",
    "30 2 * * *",
    "0,15,30,45 0-3 * * *",
    "30 0,1,23 * * *",
    "59 23 * * SUN",
    "17 1-4 */2 * *",
    "0 1 1-7 * SUN",
    "*/20 0-4 29-31 3,10 6",
    "0 9 * JAN-MAR MON-FRI",
    "5/7 * * * 5-7",
    "0 0 1,* * MON",
    "? 4 ? * ?",
)
DAY = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize("zone", AWKWARD_ZONES)
def test_occurrences_are_those_of_a_walk(zone: str) -> None:
    rng = random.Random(zone)  # noqa: S311 - chance that can be repeated
    year = rng.choice([1970, 1995, 2011, 2026])
    begin = datetime(year, 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randrange(500_000))
    end = begin + timedelta(days=4)
    minutes = list(walk(begin, end + timedelta(minutes=1), ZoneInfo(zone)))
    for expression in EXPRESSIONS:
        fields = read(expression)
        expected = [at for at, wall in minutes if fields.match(wall) and begin <= at <= end]
        assert occurrences(Rule(expression, zone), begin, end) == expected, expression
        found = Cron(expression, timezone=zone).previous(end)
        assert latest(Rule(expression, zone), end) == (found and found.astimezone(UTC)), expression


@pytest.mark.parametrize(
    ("schedule", "rule"),
    [
        (Cron("@daily"), Rule("@daily")),
        (Cron("CRON_TZ=Asia/Tokyo 0 6 * * *"), Rule("CRON_TZ=Asia/Tokyo 0 6 * * *", "Asia/Tokyo")),
        (Cron("15 30 4 * * *", dialect="seconds"), Rule("15 30 4 * * *", "UTC", "seconds")),
        (Cron("0 6 1-31 * 1", dialect="posix"), Rule("0 6 1-31 * 1", "UTC", "posix")),
        (Cron("@every 1h30m"), Rule("@every 5400s")),
        (Every("7m"), Rule("@every 420s")),
        (Once("2026-03-03T01:30:00+01:00"), Rule("@once 2026-03-03T00:30:00+00:00")),
    ],
    ids=str,
)
def test_rules_are_taken_over_as_text_and_computed_anew(schedule: Schedule, rule: Rule) -> None:
    job = Job(source="s", name="j", schedule=schedule, action=Action(kind="x"))
    assert define(job).rule == rule
    expected = [at.astimezone(UTC) for at in schedule.upcoming(DAY - timedelta(microseconds=1), 5)]
    expected = [at for at in expected if at <= DAY + timedelta(days=7)]
    assert occurrences(rule, DAY, DAY + timedelta(days=7))[: len(expected)] == expected
    assert expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", 60),
        ("@hourly", 60),
        ("0 * * * * *", 1),
        ("@every 90s", 1),
        ("@once 2026-03-03T00:00:00Z", 1),
    ],
)
def test_the_present_matches_for_a_minute_or_a_second(text: str, expected: int) -> None:
    assert tick(Rule(text)) == timedelta(seconds=expected)


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("0 0 29 2 *", DAY, datetime(2024, 2, 29, tzinfo=UTC)),
        ("@once 2026-03-03T00:00:00Z", DAY, None),
        ("@once 2026-03-01T00:00:00Z", DAY, datetime(2026, 3, 1, tzinfo=UTC)),
        ("@every 1d", DAY, DAY),
    ],
)
def test_the_latest_may_be_long_ago_or_not_at_all(text: str, at: datetime, expected: datetime | None) -> None:
    assert latest(Rule(text), at) == expected


class Odd(Schedule):
    """A schedule of somebody else's."""

    def next_after(self, instant: datetime) -> datetime | None:
        return instant

    def previous(self, instant: datetime) -> datetime | None:
        return instant

    def matches(self, instant: datetime) -> bool:
        return instant is not None


def test_what_it_does_not_know_it_does_not_guess() -> None:
    with pytest.raises(TypeError, match="no oracle"):
        define(Job(source="s", name="j", schedule=Odd(), action=Action(kind="x")))
