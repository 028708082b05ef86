"""Days of calendars whose times the clocks leave out."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from foliot.schedules import Calendar, Cron, Every, OnDays
from foliot.schedules.zone import changes

NOW = datetime(2026, 11, 15, tzinfo=UTC)
LAST = datetime(9999, 12, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
LAST_SUNDAY = (Calendar("end of March", cron="* * 25-31 3 *"), Calendar("Sundays", cron="* * * * SUN"))


@pytest.mark.parametrize("text", ["30 2 * * *", "* 2 * * *"])
@pytest.mark.parametrize("exclude", [(), (Calendar("far", [date(2300, 12, 31)]),)])
def test_days_whose_times_are_always_left_out(text: str, exclude: tuple[Calendar, ...]) -> None:
    changes.cache_clear()
    rule = OnDays(Cron(text, timezone="Europe/Berlin"), exclude=exclude, only=LAST_SUNDAY)
    final = rule.previous(NOW)

    assert final is not None
    assert final.date() == date(1980, 3, 30)
    assert rule.next_after(NOW) is rule.next_after(final) is None
    assert rule.previous(LAST) == final
    assert rule.next_after(datetime(5000, 1, 1, tzinfo=UTC)) is None
    assert changes.cache_info().misses < (1200 if exclude else 400)


def test_days_that_are_left_out_until_the_end_of_the_calendar() -> None:
    far = Calendar("far", [date(9999, 3, 28)])
    rule = OnDays(Cron("30 3 * * *", timezone="Europe/Berlin"), exclude=far, only=LAST_SUNDAY)

    found = rule.next_after(datetime(9997, 6, 1, tzinfo=UTC))

    assert found is not None
    assert found.date() == date(9998, 3, 29)
    assert rule.next_after(found) is None
    assert rule.previous(LAST) == found


@pytest.mark.parametrize("day", [date(2026, 3, 29), date(2026, 10, 25)])
def test_a_day_of_seconds_is_passed_over_where_the_clocks_are_moved(day: date) -> None:
    every_second = Cron("* * * * * *", timezone="Europe/Berlin", dialect="seconds")
    rule = OnDays(every_second, exclude=Calendar("one", [day]))
    zone = ZoneInfo("Europe/Berlin")
    midnight = datetime.combine(day, datetime.min.time(), zone)
    after = datetime.combine(day + timedelta(days=1), datetime.min.time(), zone)

    assert rule.next_after(midnight - TICK) == after
    assert rule.previous(after - TICK) == midnight - timedelta(seconds=1)
    assert rule.count(midnight - HOUR, after + HOUR) == 3600 + 3601


def test_dates_that_come_after_centuries_are_found() -> None:
    """On a day whose clocks are moved, the search begins some days before it."""
    far = Calendar("far", [date(2026, 3, 30), date(2500, 3, 28)])  # a last Sunday of March
    rule = OnDays(Cron("0 9 * * *", timezone="Europe/Berlin"), only=far)

    found = rule.next_after(NOW)

    assert found is not None
    assert found.date() == date(2500, 3, 28)


def test_a_grid_does_not_repeat_with_the_calendar() -> None:
    days = (Calendar("leap days", cron="* * 29 2 *"), Calendar("Mondays", cron="* * * * MON"))
    rule = OnDays(Every("540d"), only=days)
    expected = [datetime(1272, 2, 29, tzinfo=UTC), datetime(9272, 2, 29, tzinfo=UTC)]

    assert rule.upcoming(datetime(1, 1, 5, tzinfo=UTC), 5) == rule.upcoming(expected[0] - TICK, 5) == expected
    assert rule.previous(LAST) == expected[1]
    assert rule.previous(expected[1] - TICK) == expected[0]


@pytest.mark.parametrize("zone", ["Etc/GMT+12", "America/New_York", "Pacific/Kiritimati"])
def test_the_ends_of_the_calendar_are_no_errors(zone: str) -> None:
    first, last = datetime(1, 1, 1, tzinfo=ZoneInfo(zone)), datetime(9999, 12, 31, 23, tzinfo=ZoneInfo(zone))
    for day in (date(1, 1, 1), date(1, 1, 2), date(9999, 12, 30), date(9999, 12, 31)):
        rule = OnDays(Cron("0 */5 * * *", timezone=zone), exclude=Calendar("one", [day]))
        for instant in (first, last - timedelta(days=2), last):
            following = rule.next_after(instant)
            latest = rule.previous(instant)
            assert following is None or following.date() != day
            assert latest is None or latest.date() != day
