"""Our occurrences are those that a walk through every minute finds."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from foliot.schedules import Cron
from oracle import AWKWARD_ZONES, read, recorded_changes, walk, zone_names

EXPRESSIONS = (
    "* * * * *",
    "*/5 * * * *",
    "30 * * * *",
    "0 */2 * * *",
    "30 2 * * *",
    "0,15,30,45 0-3 * * *",
    "0 0 * * *",
    "30 0,1,23 * * *",
    "59 23 * * SUN",
    "17 1-4 */2 * *",
    "0 1 1-7 * SUN",
    "*/20 0-4 29-31 3,10 6",
)
AROUND = timedelta(hours=36)
TICK = timedelta(microseconds=1)
YEARS = (1970, 2100)


def check_window(zone_name: str, start: datetime, end: datetime, expressions: tuple[str, ...]) -> None:
    """All occurrences in [start, end), both ways, against the walk."""
    zone = ZoneInfo(zone_name)
    minutes = list(walk(start, end, zone))
    for expression in expressions:
        fields = read(expression)
        expected = [instant for instant, wall in minutes if fields.match(wall)]
        rule = Cron(expression, timezone=zone_name)
        assert forward(rule, start, end) == expected, (zone_name, expression, start)
        assert backward(rule, start, end) == expected, (zone_name, expression, start)
        assert rule.count(start, end - TICK) == len(expected), (zone_name, expression, start)


def forward(rule: Cron, start: datetime, end: datetime) -> list[datetime]:
    found = []
    at = rule.next_after(start - TICK)
    while at is not None and at.astimezone(UTC) < end:
        found.append(at.astimezone(UTC))
        at = rule.next_after(at)
    return found


def backward(rule: Cron, start: datetime, end: datetime) -> list[datetime]:
    found = []
    at = rule.previous(end - TICK)
    while at is not None and at.astimezone(UTC) >= start:
        found.append(at.astimezone(UTC))
        at = rule.previous(at.astimezone(UTC) - TICK)
    return found[::-1]


@pytest.mark.req("DECL-08", "DECL-09", "DECL-10", "BAN-05")
@pytest.mark.parametrize("zone", AWKWARD_ZONES)
def test_around_changes_of_the_clocks(zone: str) -> None:
    inside = [at for at in recorded_changes(zone) if YEARS[0] <= at.year < YEARS[1]]
    chosen = random.Random(zone).sample(inside, min(len(inside), 10))  # noqa: S311 - a sample, no secret
    for change in chosen:
        check_window(zone, change - AROUND, change + AROUND, EXPRESSIONS)


@pytest.mark.req("DECL-08", "DECL-09", "DECL-10", "BAN-05")
@pytest.mark.parametrize("part", range(8))
def test_around_one_change_in_every_zone_there_is(part: int) -> None:
    for name in zone_names()[part::8]:
        inside = [at for at in recorded_changes(name) if YEARS[0] <= at.year < YEARS[1]]
        for change in random.Random(name).sample(inside, min(len(inside), 1)):  # noqa: S311
            check_window(name, change - AROUND / 3, change + AROUND / 3, EXPRESSIONS[1::3])


@pytest.mark.req("DECL-10")
@pytest.mark.parametrize("zone", AWKWARD_ZONES)
def test_in_rule_based_years_beyond_the_recorded_ones(zone: str) -> None:
    """After 2037 most zones have no table any more, only a rule."""
    dice = random.Random(zone)  # noqa: S311
    year = dice.randrange(2038, YEARS[1])
    for month in (dice.choice((3, 4)), dice.choice((9, 10, 11))):
        day = datetime(year, month, dice.randrange(1, 25), tzinfo=UTC)
        check_window(zone, day, day + timedelta(days=8), EXPRESSIONS[3:7])


@pytest.mark.req("DECL-10")
def test_a_whole_year_of_days() -> None:
    for year in (1972, 2000, 2023, 2096, 2100):
        start = datetime(year, 1, 1, tzinfo=UTC)
        end = datetime(year + 1, 1, 1, tzinfo=UTC)
        for expression in ("0 0 31 * *", "0 0 29 2 *", "0 0 13 * 5", "0 0 */10 2,6 1-3", "0 0 * * 7"):
            fields = read(expression)
            days = [start + timedelta(days=n) for n in range((end - start).days)]
            expected = [day for day in days if fields.match(day)]
            assert forward(Cron(expression), start, end) == expected
            assert backward(Cron(expression), start, end) == expected


def test_wall_times_that_come_twice_around_new_year() -> None:
    """A new year ends a spell, too: a short one then lies between the two passes of an hour."""
    found = 0
    for name in zone_names():
        for change in recorded_changes(name):
            new_year = change.replace(month=1, day=1, hour=0, minute=0, second=0)
            back = change.astimezone(ZoneInfo(name)) - timedelta(seconds=1)
            lead = (change - timedelta(seconds=1)).astimezone(ZoneInfo(name))
            is_back = (change.astimezone(ZoneInfo(name)).utcoffset() or AROUND) < (lead.utcoffset() or AROUND)
            if not is_back or not timedelta(0) < change - new_year < timedelta(days=2) or change.year < 1900:
                continue
            found += 1
            once_a_year = f"{back.minute} {back.hour} {back.day} {back.month} *"
            check_window(name, change - AROUND, change + AROUND, (once_a_year, "*/10 * * * *"))
    assert found > 10
