"""Instants and durations in the sentences of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil

from foliot.schedules import Schedule
from foliot.schedules.zone import load_zone

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_SECOND = timedelta(seconds=1)


def span(duration: timedelta) -> str:
    """`2 h 30 min`: the two largest units."""
    seconds = abs(duration) // _SECOND
    for (unit, size), (smaller_unit, smaller_size) in pairwise(_UNITS):
        if seconds >= size:
            count, rest = divmod(seconds, size)
            smaller = rest // smaller_size
            return f"{count} {unit}" + (f" {smaller} {smaller_unit}" if smaller else "")
    return f"{seconds} s"


def moment(at: datetime, zone: str) -> str:
    """`Mon 2026-11-16 23:00`, in a zone; with seconds if there are some."""
    local = at.astimezone(load_zone(zone))
    return (
        f"{local:%a %Y-%m-%d %H:%M:%S}".removesuffix(":00") if local.second else f"{local:%a %Y-%m-%d %H:%M}"
    )


def clock_time(at: datetime, zone: str) -> str:
    """`23:00`, in a zone."""
    return f"{at.astimezone(load_zone(zone)):%H:%M}"


def zone_of(schedule: Schedule) -> str:
    """The zone of a schedule."""
    return getattr(schedule, "timezone", None) or "UTC"


def percentile(durations: Sequence[timedelta], part: float = 0.95) -> timedelta:
    """The percentile: this part of the durations is not longer."""
    ordered = sorted(durations)
    return ordered[max(0, ceil(len(ordered) * part) - 1)]


def counted(number: int, what: str) -> str:
    """`1 run`, `1,234 runs`."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")
