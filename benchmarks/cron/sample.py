"""What is asked: the expressions, the zones, and the instants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from random import Random
from zoneinfo import ZoneInfo

EXPRESSIONS = (
    "*/5 * * * *",
    "0 9 * * 1-5",
    "30 2 1 1 *",
    "0 0 29 2 *",
    "15,45 8-18 * * 1-5",
    "0 0 13 * 5",
)
ZONES = ("UTC", "America/New_York")

SEED = 20
FIRST = datetime(2020, 1, 1, tzinfo=UTC)
LAST = datetime(2041, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_PER_CHANGE_DAY = 24


def load_zone(name: str) -> tzinfo:
    """The zone as its users write it: several peers are faster with `datetime.UTC` than with a ZoneInfo."""
    return UTC if name == "UTC" else ZoneInfo(name)


def random_instants(zone: str, count: int) -> list[datetime]:
    """Instants of the years 2020 to 2040, the same in each run, as the clocks of the zone show them."""
    random = Random(SEED)  # noqa: S311 - a sample, not a secret
    return [_between(random, FIRST, LAST).astimezone(load_zone(zone)) for _ in range(count)]


def change_day_instants(zone: str) -> list[datetime]:
    """Instants on the days on which the zone's clocks are moved: where libraries go wrong."""
    random = Random(SEED)  # noqa: S311 - a sample, not a secret
    tz = load_zone(zone)
    days = (FIRST + _DAY * number for number in range((LAST - FIRST).days))
    return [
        _between(random, day, day + _DAY).astimezone(tz)
        for day in days
        if day.astimezone(tz).utcoffset() != (day + _DAY).astimezone(tz).utcoffset()
        for _ in range(_PER_CHANGE_DAY)
    ]


def _between(random: Random, start: datetime, end: datetime) -> datetime:
    return start + (end - start) * random.random()
