"""The ends of the calendar, leap days, and the question itself."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from foliot.errors import InvalidScheduleError, NaiveInstantError
from foliot.schedules import Cron, Every, Once, Schedule

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
RULES: list[Schedule] = [
    Cron("* * * * *"),
    Cron("0 0 1 1 *", timezone="Pacific/Kiritimati"),
    Cron("59 23 31 12 *", timezone="Etc/GMT+12"),
    Cron("30 2 * 3 0", timezone="America/New_York"),
    Cron("@every 7h", timezone="Asia/Tokyo"),
    Every("3h", timezone="America/New_York"),
]


@pytest.mark.req("DECL-10")
def test_leap_days_skip_the_year_2100() -> None:
    rule = Cron("0 0 29 2 *")

    assert [at.year for at in rule.upcoming(datetime(2088, 3, 1, tzinfo=UTC), 4)] == [2092, 2096, 2104, 2108]
    before = rule.previous(datetime(2104, 2, 28, tzinfo=UTC))
    assert before == datetime(2096, 2, 29, tzinfo=UTC)


@pytest.mark.req("DECL-10")
def test_leap_days_across_2100_in_a_zone_that_moves_its_clocks() -> None:
    rule = Cron("0 0 29 2 *", timezone="Europe/Berlin")
    on_a_change = datetime(2096, 3, 25, 12, tzinfo=UTC)

    assert rule.next_after(on_a_change) == datetime(2104, 2, 28, 23, tzinfo=UTC)
    assert rule.previous(on_a_change + timedelta(days=365 * 8 - 40)) == datetime(2096, 2, 28, 23, tzinfo=UTC)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("offset", [-12, 0, 14])
def test_the_ends_of_the_calendar_are_no_errors(rule: Schedule, offset: int) -> None:
    zone = timezone(timedelta(hours=offset))
    for instant in (FIRST, FIRST + timedelta(days=2), LAST - timedelta(days=2), LAST):
        local = instant.replace(tzinfo=zone)
        following, latest = rule.next_after(local), rule.previous(local)
        assert following is None or following > local
        assert latest is None or latest <= local
        assert not rule.matches(local) or latest is not None


def test_nothing_comes_after_the_last_instant_or_before_the_first() -> None:
    assert Cron("* * * * *").next_after(LAST) is None
    assert Cron("* * * * *").previous(FIRST) == FIRST
    assert Cron("0 12 * * *").previous(FIRST) is None
    assert Cron("* * * * *", timezone="America/New_York").previous(FIRST) is None
    assert Cron("* * * * *", timezone="Asia/Tokyo").next_after(LAST) is None


def test_a_change_of_the_clocks_in_the_last_year_is_met_from_its_very_end() -> None:
    new_york = ZoneInfo("America/New_York")
    on_the_change = Cron("0 0 7 11 *", timezone="America/New_York")
    at_the_end = Cron("30 23 31 12 *", timezone="America/New_York")

    assert on_the_change.previous(datetime(9999, 12, 31, 23, tzinfo=new_york)) == datetime(
        9999, 11, 7, tzinfo=new_york
    )
    assert at_the_end.next_after(datetime(9999, 11, 7, 12, tzinfo=new_york)) == datetime(
        9999, 12, 31, 23, 30, tzinfo=new_york
    )


@pytest.mark.parametrize("hours", [-12, 14])
def test_instants_beyond_the_calendar_of_a_zone_are_taken_for_its_ends(hours: int) -> None:
    """In a zone to the other side of UTC, the first or last hours of the calendar do not exist."""
    zone = timezone(timedelta(hours=hours))
    rule = Cron("0 12 * * *", timezone="Etc/GMT+12" if hours > 0 else "Etc/GMT-14")
    if hours > 0:
        assert rule.previous(datetime(1, 1, 1, tzinfo=zone)) is None
        assert str(rule.next_after(datetime(1, 1, 1, tzinfo=zone))) == "0001-01-01 12:00:00-12:00"
    else:
        assert rule.next_after(datetime(9999, 12, 31, 23, tzinfo=zone)) is None
        latest = rule.previous(datetime(9999, 12, 31, 23, tzinfo=zone))
        assert str(latest) == "9999-12-31 12:00:00+14:00"


def test_upcoming_ends_with_the_calendar() -> None:
    rule = Cron("0 0 1 1 *")

    assert [at.year for at in rule.upcoming(datetime(9996, 6, 1, tzinfo=UTC), 10)] == [9997, 9998, 9999]


def test_a_search_over_millennia_stays_right_and_keeps_little() -> None:
    rule = Cron("0 12 29 2 *", timezone="Europe/Berlin")

    leap_days = rule.upcoming(datetime(1900, 1, 1, tzinfo=UTC), 500)

    assert [at.year for at in leap_days] == [y for y in range(1904, 4000) if _is_leap(y)][:500]
    assert rule._up is not None
    assert len(rule._up.years) <= 32
    assert len(rule._up.turns) <= 32


def test_rules_with_the_same_days_share_their_tables() -> None:
    morning = Cron("0 9 * * 1-5", timezone="America/New_York")
    evening = Cron("30 18 * * MON-FRI", timezone="America/Toronto")
    for rule in (morning, evening):
        rule.next_after(datetime(2026, 5, 1, tzinfo=UTC))
    assert morning._up is not None
    assert evening._up is not None

    assert morning._up.years[2026] is evening._up.years[2026]


def _is_leap(year: int) -> bool:
    return (date(year, 3, 1) - timedelta(days=1)).day == 29


class Nowhere(tzinfo):
    """A zone that does not know its offset."""

    def utcoffset(self, _: datetime | None) -> None:
        return None

    dst = tzname = utcoffset


NO_INSTANTS = (
    datetime(2026, 1, 1),
    datetime(2026, 1, 1, tzinfo=Nowhere()),
    "2026-01-01",
    None,
    date(2026, 1, 1),
    time(12, tzinfo=UTC),
    5,
)


@pytest.mark.parametrize("rule", [*RULES, Once(FIRST)], ids=str)
@pytest.mark.parametrize("instant", NO_INSTANTS)
def test_an_instant_needs_a_zone(rule: Schedule, instant: Any) -> None:
    for question in (rule.next_after, rule.previous, rule.matches, lambda at: rule.upcoming(at, 1)):
        with pytest.raises(NaiveInstantError) as caught:
            question(instant)
        assert "timezone.utc" in (caught.value.hint or "")


@pytest.mark.parametrize("count", [-1, 1.5, "3", None])
def test_count_must_be_a_whole_number(count: Any) -> None:
    with pytest.raises(InvalidScheduleError, match="count"):
        Cron("* * * * *").upcoming(FIRST, count)


def test_subclasses_of_datetime_are_welcome() -> None:
    class Moment(datetime):
        pass

    found = Cron("0 9 * * *", timezone="Asia/Tokyo").next_after(Moment(2026, 1, 1, tzinfo=UTC))

    assert found == datetime(2026, 1, 2, 9, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert type(found) is datetime


def test_matches_looks_at_the_minute_or_the_second() -> None:
    half_past = datetime(2026, 1, 1, 9, 0, 30, tzinfo=UTC)

    assert Cron("0 9 * * *").matches(half_past)
    assert not Cron("0 0 9 * * *", dialect="seconds").matches(half_past)
    assert Cron("30 0 9 * * *", dialect="seconds").matches(half_past.replace(microsecond=999_999))
    assert Cron("0 9 * * *", dialect="seconds").matches(half_past)
    assert not Cron("0 9 * * *").matches(half_past.replace(minute=1))


def test_rules_tell_themselves_apart() -> None:
    rules = {
        Cron("0 9 * * *"),
        Cron("0 9 * * *", timezone="Asia/Tokyo"),
        Cron("0 9 * * *", dialect="posix"),
        Cron("00 9 * * *"),
    }

    assert len(rules) == 4
    assert Cron("0 9 * * *") in rules
    assert str(Cron("0 9 * * *", timezone="Asia/Tokyo")) == "0 9 * * *"


def test_rules_are_frozen() -> None:
    rule = Cron("0 9 * * *")

    with pytest.raises(AttributeError):
        rule.expression = "* * * * *"  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        rule.note = "mine"  # type: ignore[attr-defined]
