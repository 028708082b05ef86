"""Wall minutes that do not exist never fire; those that exist twice fire twice."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from foliot.schedules import Cron

# zone, expression, start, the occurrences that follow, the case
SPRING = [
    (
        "Europe/Berlin", "30 2 * * *", "2026-03-28T00:00+01:00",
        ["2026-03-28T02:30+01:00", "2026-03-30T02:30+02:00"], "the usual hour",
    ),
    (
        "Europe/Berlin", "0 3 * * *", "2026-03-28T12:00+01:00",
        ["2026-03-29T03:00+02:00"], "the first minute after the gap",
    ),
    (
        "Europe/Berlin", "*/30 * * * *", "2026-03-29T01:00+01:00",
        ["2026-03-29T01:30+01:00", "2026-03-29T03:00+02:00"], "a beat that goes through it",
    ),
    (
        "Australia/Lord_Howe", "*/15 * * * *", "2026-10-04T01:40+10:30",
        ["2026-10-04T01:45+10:30", "2026-10-04T02:30+11:00"], "half an hour",
    ),
    (
        "Antarctica/Troll", "30 * * * *", "2026-03-29T00:45+00:00",
        ["2026-03-29T03:30+02:00"], "two hours",
    ),
    (
        "Pacific/Apia", "0 12 * * *", "2011-12-28T12:00-10:00",
        ["2011-12-29T12:00-10:00", "2011-12-31T12:00+14:00"], "a whole day",
    ),
    (
        "Pacific/Apia", "0 12 30 12 *", "2011-01-01T00:00-10:00",
        ["2012-12-30T12:00+14:00"], "a year without its day",
    ),
    (
        "Africa/Cairo", "0 0 * * *", "2026-04-22T12:00+02:00",
        ["2026-04-23T00:00+02:00", "2026-04-25T00:00+03:00"], "midnight",
    ),
    (
        "America/Sao_Paulo", "0 0 * * *", "2018-11-03T00:00-03:00",
        ["2018-11-05T00:00-02:00"], "midnight",
    ),
    (
        "America/Havana", "30 0 * * *", "2026-03-07T12:00-05:00",
        ["2026-03-09T00:30-04:00"], "after midnight",
    ),
]  # fmt: skip
AUTUMN = [
    (
        "Europe/Berlin", "30 2 * * *", "2026-10-24T12:00+02:00",
        ["2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00", "2026-10-26T02:30+01:00"], "the usual hour",
    ),
    (
        "Europe/Berlin", "0,59 2 * * *", "2026-10-25T02:30+02:00",
        ["2026-10-25T02:59+02:00", "2026-10-25T02:00+01:00", "2026-10-25T02:59+01:00"], "both ends",
    ),
    (
        "America/New_York", "30 1 * * *", "2026-10-31T12:00-04:00",
        ["2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00", "2026-11-02T01:30-05:00"], "New York",
    ),
    (
        "Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00+11:00",
        ["2026-04-05T01:45+11:00", "2026-04-05T01:45+10:30", "2026-04-06T01:45+10:30"], "half an hour",
    ),
    (
        "Antarctica/Troll", "30 2 * * *", "2026-10-24T12:00+02:00",
        ["2026-10-25T02:30+02:00", "2026-10-25T02:30+00:00"], "two hours",
    ),
    (
        "Africa/Cairo", "30 23 * * *", "2026-10-28T23:45+03:00",
        ["2026-10-29T23:30+03:00", "2026-10-29T23:30+02:00", "2026-10-30T23:30+02:00"], "before midnight",
    ),
    (
        "America/Havana", "0 0 1 11 *", "2026-01-01T00:00-05:00",
        ["2026-11-01T00:00-04:00", "2026-11-01T00:00-05:00", "2027-11-01T00:00-04:00"], "once a year",
    ),
    (
        "Pacific/Kwajalein", "0 12 30 9 *", "1969-01-01T00:00+11:00",
        ["1969-09-30T12:00+11:00", "1969-09-30T12:00-12:00"], "almost a whole day",
    ),
]  # fmt: skip


def in_utc(instant: datetime | None) -> datetime:
    """Where two times are equal if they are the same instant; within a zone, Python looks at the wall."""
    assert instant is not None
    return instant.astimezone(UTC)


def check(zone: str, expression: str, start: str, expected: list[str]) -> None:
    rule = Cron(expression, timezone=zone)
    instants = [datetime.fromisoformat(text) for text in expected]

    found = rule.upcoming(datetime.fromisoformat(start), len(instants))

    assert [at.isoformat(timespec="minutes") for at in found] == expected
    assert all(at.tzinfo is ZoneInfo(zone) for at in found)
    # The wall time alone does not tell the two passes apart: the fold must lead back to the instant.
    assert [at.astimezone(UTC) for at in found] == instants
    for earlier, later in pairwise(found):
        assert in_utc(rule.previous(later)) == in_utc(later)
        assert in_utc(rule.next_after(earlier)) == in_utc(later)
        assert in_utc(rule.next_after(in_utc(earlier))) == in_utc(later)
        assert in_utc(rule.previous(in_utc(later) - later.resolution)) == in_utc(earlier)


@pytest.mark.req("DECL-08", "BAN-05")
@pytest.mark.parametrize(
    ("zone", "expression", "start", "expected"),
    [row[:4] for row in SPRING],
    ids=[f"{row[0]}: {row[4]}" for row in SPRING],
)
def test_missing_minutes_never_fire(zone: str, expression: str, start: str, expected: list[str]) -> None:
    check(zone, expression, start, expected)


@pytest.mark.req("DECL-09", "BAN-05")
@pytest.mark.parametrize(
    ("zone", "expression", "start", "expected"),
    [row[:4] for row in AUTUMN],
    ids=[f"{row[0]}: {row[4]}" for row in AUTUMN],
)
def test_repeated_minutes_fire_twice(zone: str, expression: str, start: str, expected: list[str]) -> None:
    check(zone, expression, start, expected)


@pytest.mark.req("DECL-09")
def test_second_pass_carries_fold() -> None:
    rule = Cron("30 2 * * *", timezone="Europe/Berlin")

    first, second = rule.upcoming(datetime(2026, 10, 25, tzinfo=UTC), 2)

    assert (first.hour, first.fold) == (2, 0)
    assert (second.hour, second.fold) == (2, 1)


def test_fold_of_the_question_is_understood() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    rule = Cron("45 2 * * *", timezone="Europe/Berlin")
    first_pass = datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=0)
    second_pass = datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=1)

    after_first, after_second = rule.next_after(first_pass), rule.next_after(second_pass)

    assert after_first is not None
    assert after_second is not None
    assert after_first.isoformat() == "2026-10-25T02:45:00+02:00"
    assert after_second.isoformat() == "2026-10-25T02:45:00+01:00"


def test_wall_time_in_a_gap_is_taken_as_the_instant_that_python_means() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    rule = Cron("0 * * * *", timezone="Europe/Berlin")
    nowhere = datetime(2026, 3, 29, 2, 30, tzinfo=berlin)  # 01:30 UTC, that is 03:30 on the wall

    assert rule.previous(nowhere) == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert rule.next_after(nowhere) == datetime(2026, 3, 29, 2, 0, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Tokyo", "Africa/Abidjan"])
def test_the_zone_of_the_question_does_not_matter(zone: str) -> None:
    rule = Cron("*/7 */5 * * *", timezone="America/New_York")
    instant = datetime(2026, 10, 31, 23, 1, tzinfo=UTC)

    elsewhere = rule.upcoming(instant.astimezone(ZoneInfo(zone)), 40)
    assert [in_utc(at) for at in elsewhere] == [in_utc(at) for at in rule.upcoming(instant, 40)]
