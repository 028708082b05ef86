"""Years after the records are like one of 28."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from foliot.schedules.twin import RECORDED, ROW, is_leap, twin
from foliot.schedules.zone import changes, irregular_days
from oracle import AWKWARD_ZONES, recorded_changes, zone_names

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


def test_no_zone_has_records_beyond_those_years() -> None:
    for name in zone_names():
        for at in recorded_changes(name):
            assert at.year in RECORDED, name


def test_a_twin_has_the_same_days_and_the_same_neighbours() -> None:
    for year in range(ROW.stop, 9999):
        like = twin(year)
        assert like in ROW
        assert date(like, 1, 1).weekday() == date(year, 1, 1).weekday()
        assert [is_leap(like + n) for n in (-1, 0, 1)] == [is_leap(year + n) for n in (-1, 0, 1)]


def test_each_year_of_the_row_and_before_is_its_own_twin() -> None:
    assert [twin(year) for year in (1, 1800, 2026, *ROW, 9999)] == [1, 1800, 2026, *ROW, 9999]


@pytest.mark.parametrize("name", AWKWARD_ZONES)
def test_changes_after_the_records_are_those_that_the_zone_tells(name: str) -> None:
    zone, dice = ZoneInfo(name), random.Random(name)  # noqa: S311 - a sample, no secret
    for year in [dice.randrange(ROW.stop, 9999) for _ in range(3)] + [1799, 2200, 2400, 9998, 9999]:
        days = [datetime(year, 1, 1, tzinfo=UTC) + DAY * n for n in range(364)]
        offsets = [day.astimezone(zone).utcoffset() for day in days]
        moved = changes(zone, year)
        assert len(moved) == sum(one != other for one, other in pairwise(offsets))
        for one in moved:
            assert (one.at - SECOND).astimezone(zone).utcoffset() == one.before
            assert one.at.astimezone(zone).utcoffset() == one.after
            assert (one.wall_start.month, one.wall_start.day) in irregular_days(zone, year)
