"""The axis of a timeline: its marks, and the wall times that do not exist, or come twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from foliot.schedules.zone import changes

_STEPS = (1, 5, 10, 30, 60, 180, 360, 720, 1440, 2880, 10_080)  # minutes between two marks of an axis
_MOST_TICKS = 12


class Tick(NamedTuple):
    """A mark of the axis."""

    x: float
    text: str


class Band(NamedTuple):
    """Wall times that do not exist (`gap`), or come twice (`fold`), around a change of the clocks."""

    x: float
    wide: float
    kind: str
    text: str


def ticks_of(first: datetime, last: datetime, zone: ZoneInfo) -> Iterable[tuple[datetime, str]]:
    """The instants of the marks, with their words: at most a dozen, at round wall times."""
    minutes = (last - first) / timedelta(minutes=1)
    step = next((one for one in _STEPS if minutes / one <= _MOST_TICKS), _STEPS[-1])
    wall = first.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    while (at := wall.replace(tzinfo=zone).astimezone(UTC)) <= last:
        if at >= first:
            is_day = not wall.hour and not wall.minute
            yield at, f"{wall:%a} {wall.day} {wall:%b}" if is_day else f"{wall:%H:%M}"
        wall += timedelta(minutes=step)


def bands_of(
    first: datetime, last: datetime, zone: ZoneInfo, place: Callable[[datetime], float]
) -> Iterable[Band]:
    """The changes of a zone's clocks. `place`: where an instant is drawn."""
    for year in range(first.year, last.year + 1):
        for change in changes(zone, year):
            if not first <= change.at <= last:
                continue
            size = abs(change.after - change.before)
            kind = "gap" if change.is_gap else "fold"
            begin = change.at if change.is_gap else change.at - size
            end = begin + (size if change.is_gap else 2 * size)
            does = (
                "do not exist: the clocks go forward" if change.is_gap else "come twice: the clocks go back"
            )
            text = f"{change.wall_start:%H:%M} to {change.wall_end:%H:%M} of {change.wall_start:%d %b} {does}"
            x = place(max(begin, first))
            yield Band(x, round(max(place(min(end, last)) - x, 4.0), 1), kind, text)
