"""The clocks of a zone as stretches of constant offset; and a rule of numbers that is walked day by day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()


class Stretch(NamedTuple):
    """From a start to an end (seconds since 1970) the clocks are this many seconds ahead of UTC.

    `before` is the offset of the stretch before; the same if the stretch begins with the question.
    """

    start: int
    end: int
    offset: int
    before: int

    @property
    def jump(self) -> int:
        """By how much the clocks went forward at its start; negative: back."""
        return self.offset - self.before


def stretches(zone: str, first: int, last: int) -> Iterator[Stretch]:
    """The stretches that make up [first, last)."""
    edges = [first, *(at for at in _changes(zone, first, last) if first < at < last), last]
    before = offset_at(zone, first)
    for start, end in pairwise(edges):
        offset = offset_at(zone, start)
        yield Stretch(start, end, offset, before)
        before = offset


def offset_at(zone: str, instant: int) -> int:
    """How many seconds the clocks of a zone are ahead of UTC."""
    offset = datetime.fromtimestamp(instant, UTC).astimezone(ZoneInfo(zone)).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _changes(zone: str, first: int, last: int) -> Iterator[int]:
    years = range(datetime.fromtimestamp(first, UTC).year, datetime.fromtimestamp(last, UTC).year + 1)
    return (at for year in years for at in _changes_of(zone, year))


@lru_cache(maxsize=4096)
def _changes_of(zone: str, year: int) -> tuple[int, ...]:
    """The instants of a year at which the offset changes; a day is looked at if its ends differ."""
    days = range(date(year, 1, 1).toordinal() - _EPOCH, date(year, 12, 31).toordinal() - _EPOCH + 2)
    offsets = [offset_at(zone, day * DAY) for day in days]
    found = []
    for day, (before, after) in zip(days, pairwise(offsets), strict=False):
        if before != after:
            low, high = day * DAY, (day + 1) * DAY
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset_at(zone, middle) == before else (low, middle)
            found.append(high)
    return tuple(found)


def day_of(wall: int) -> date:
    """The date of a wall time (seconds since 1970 on that wall)."""
    return date.fromordinal(wall // DAY + _EPOCH)


def days_between(start: int, end: int) -> Iterator[tuple[int, date]]:
    """The midnights (wall) and dates that touch [start, end) of the wall."""
    day = day_of(start)
    for midnight in range(start // DAY * DAY, end, DAY):
        yield midnight, day
        day += timedelta(days=1)
