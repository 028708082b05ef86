"""How many occurrences lie in a range: exact to both ends, and never by walking."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foliot.errors import NaiveInstantError
from foliot.schedules import Cron, Every, Once, Schedule

FIRST = datetime(2000, 1, 1, tzinfo=UTC)
LAST = datetime(2100, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")
ENDS = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
SCHEDULES: tuple[Schedule, ...] = (Cron("0 9 * * *"), Cron("@every 90s"), Every("1h"), Once(FIRST))

instants = st.datetimes(timezones=st.just(UTC))


def walk(rule: Schedule, first: datetime, last: datetime) -> int:
    return Schedule.count(rule, first, last)


def test_a_century_of_minutes() -> None:
    days = 36_525
    assert Cron("* * * * *").count(FIRST, LAST - TICK) == days * 24 * 60
    assert Cron("* * * * * *", dialect="seconds").count(FIRST, LAST) == days * 86_400 + 1
    assert Cron("30 2 * * *", timezone="Europe/Berlin").count(FIRST, LAST) == days, "a gap for each repeat"


def test_the_whole_calendar() -> None:
    assert Cron("0 0 29 2 *").count(*ENDS) == 2424
    assert Cron("* * * * *").count(*ENDS) == 3_652_059 * 24 * 60
    assert Every("1s").count(*ENDS) == 3_652_059 * 86_400


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "Pacific/Apia"])
def test_the_ends_of_the_calendar_in_a_zone(zone: str) -> None:
    for rule in (Cron("*/7 * * * *", timezone=zone), Every("7m", timezone=zone)):
        for first, last in ((ENDS[1] - 4 * DAY, ENDS[1]), (ENDS[0] + DAY, ENDS[0] + 4 * DAY)):
            assert rule.count(first, last) == walk(rule, first, last)


def test_a_wall_time_counts_as_often_as_it_comes() -> None:
    rule = Cron("30 2 * * *", timezone="Europe/Berlin")
    spring, autumn = datetime(2026, 3, 29, tzinfo=BERLIN), datetime(2026, 10, 25, tzinfo=BERLIN)

    assert rule.count(spring, spring.replace(hour=23)) == 0
    assert rule.count(autumn, autumn.replace(hour=23)) == 2
    twice = autumn.replace(hour=2, minute=30)
    assert rule.count(twice, twice.replace(fold=1)) == 2
    assert rule.count(twice.replace(fold=1), twice) == 0


@given(st.integers(1, 10**6), instants, st.integers(0, 300))
@example(seconds=7, instant=ENDS[1] - timedelta(hours=1), steps=300)
def test_every_counts_what_a_walk_finds(seconds: int, instant: datetime, steps: int) -> None:
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        rule = Every(timedelta(seconds=seconds), timezone=zone)
        last = min(instant, ENDS[1] - steps * rule.duration) + steps * rule.duration
        assert rule.count(instant, last) == walk(rule, instant, last)
        assert Cron(f"@every {seconds}s", timezone=zone).count(instant, last) == rule.count(instant, last)


@given(instants, instants, instants)
def test_once_counts_one_or_none(at: datetime, first: datetime, last: datetime) -> None:
    assert Once(at).count(first, last) == walk(Once(at), first, last) == (first <= at <= last)


@pytest.mark.parametrize("rule", SCHEDULES)
def test_what_names_no_instant_is_refused(rule: Schedule) -> None:
    with pytest.raises(NaiveInstantError):
        rule.count(FIRST.replace(tzinfo=None), LAST)
    with pytest.raises(NaiveInstantError):
        rule.count(FIRST, LAST.replace(tzinfo=None))


@pytest.mark.parametrize("rule", SCHEDULES)
def test_a_range_that_ends_before_it_begins_holds_nothing(rule: Schedule) -> None:
    assert rule.count(FIRST, FIRST - timedelta(days=3)) == 0
