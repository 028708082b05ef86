"""Counts the occurrences of each hour, or minute, of a future period.

Occurrences are counted for each distinct rule, not for each job, and without walking from one to the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from foliot.operations.herd import NO_ROOM, Herd, Room, find_herds
from foliot.operations.rule_count import Rule, Rules
from foliot.schedules.zone import changes, load_zone

_TICK = timedelta(microseconds=1)
_PEAKS = 5
_MOST_COUNTED = 100_000  # rules times buckets; the commonest rules come first


class Bucket(NamedTuple):
    """The start of a period, and the number of occurrences in it."""

    at: datetime
    occurrences: int


class ClockChange(NamedTuple):
    """The clocks of a zone are changed at an instant, from one offset to another, in minutes."""

    at: datetime
    before: int
    after: int


class Forecast(NamedTuple):
    """The counts of all buckets in order. `is_partial`: only a part of the jobs was read."""

    buckets: tuple[Bucket, ...]
    peaks: tuple[Bucket, ...]
    changes: tuple[ClockChange, ...]
    jobs: int
    is_partial: bool
    herds: tuple[Herd, ...] = ()  # in the peaks


async def forecast(  # noqa: PLR0913 - what to count, in which time, and how
    rules: Rules,
    first: datetime,
    last: datetime,
    size: timedelta,
    zone: str,
    *,
    room: Room = NO_ROOM,
) -> Forecast:
    """Count what comes from `first` on, before `last`, in buckets of a size."""
    stretches, is_cut = list(_stretches(first, last, size)), False
    counts = [0] * len(stretches)
    for number, (rule, count) in enumerate(rules.counts.most_common(), 1):
        for place, found in enumerate(_counted(rule, first, last, size)):
            counts[place] += found * count
        await asyncio.sleep(0)  # noqa: TID251 - no wait: others on this loop have their turn
        if number * len(stretches) >= _MOST_COUNTED and number < len(rules.counts):
            is_cut = True
            break
    buckets = tuple(Bucket(begin, count) for (begin, _), count in zip(stretches, counts, strict=True))
    peaks = sorted((b for b in buckets if b.occurrences), key=lambda b: (-b.occurrences, b.at))[:_PEAKS]
    spans = ((peak.at, min(peak.at + size, last), peak.occurrences) for peak in peaks)
    herds = tuple(find_herds(rules.counts, spans, room))
    clock_changes = tuple(_changes(zone, first, last))
    is_partial = rules.is_partial or is_cut
    return Forecast(buckets, tuple(peaks), clock_changes, rules.counts.total(), is_partial, herds)


@lru_cache(maxsize=1024)  # while jobs are being counted, the same rules are asked for again and again
def _counted(rule: Rule, first: datetime, last: datetime, size: timedelta) -> tuple[int, ...]:
    return tuple(rule.occurrences(begin, end - _TICK) for begin, end in _stretches(first, last, size))


def _stretches(first: datetime, last: datetime, size: timedelta) -> Iterator[tuple[datetime, datetime]]:
    while first < last:
        yield first, min(first + size, last)
        first += size


def _changes(zone: str, first: datetime, last: datetime) -> Iterator[ClockChange]:
    minute = timedelta(minutes=1)
    for year in range(first.year, last.year + 1):
        for change in changes(load_zone(zone), year):
            if first <= change.at < last:
                yield ClockChange(change.at, change.before // minute, change.after // minute)
