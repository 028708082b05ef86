"""Counts the occurrences of each hour, or minute, of a future period.

Occurrences are counted for each distinct rule, not for each job, and without walking from one to the next.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.model.query import MOST_LOOKED_AT
from foliot.operations.herd import NO_ROOM, Herd, Room, Rule, find_herds
from foliot.protocols import JobView
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
    jobs: AsyncIterator[JobView],
    first: datetime,
    last: datetime,
    size: timedelta,
    zone: str,
    *,
    room: Room = NO_ROOM,
) -> Forecast:
    """Count the occurrences from `first` on, before `last`, in buckets of a size."""
    rules, queues = Counter[Rule](), dict[str, str]()
    looked_at = 0
    async for view in jobs:
        looked_at += 1
        if looked_at > MOST_LOOKED_AT:
            break
        if view.record is not None and view.damage is None and _is_served(view):
            job = view.record.job
            rules[Rule(job.schedule, job.repeat_until, job.queue, job.policy.splay is not None)] += 1
            queues[view.key] = job.queue
    stretches, is_cut = list(_stretches(first, last, size)), False
    counts = [0] * len(stretches)
    for number, (rule, count) in enumerate(rules.most_common(), 1):
        for place, (begin, end) in enumerate(stretches):
            counts[place] += rule.occurrences(begin, end - _TICK) * count
        await asyncio.sleep(0)  # noqa: TID251 - no wait: other tasks get their turn
        if number * len(stretches) >= _MOST_COUNTED and number < len(rules):
            is_cut = True
            break
    buckets = tuple(Bucket(begin, count) for (begin, _), count in zip(stretches, counts, strict=True))
    peaks = sorted((b for b in buckets if b.occurrences), key=lambda b: (-b.occurrences, b.at))[:_PEAKS]
    is_partial = looked_at > MOST_LOOKED_AT or is_cut
    spans = ((peak.at, min(peak.at + size, last), peak.occurrences) for peak in peaks)
    herds = tuple(find_herds(rules, queues, spans, room))
    clock_changes = tuple(_changes(zone, first, last))
    return Forecast(buckets, tuple(peaks), clock_changes, rules.total(), is_partial, herds)


def _is_served(view: JobView) -> bool:
    assert view.record is not None  # noqa: S101 - the caller has checked it
    job, state, _ = view.record
    return job.enabled and state.paused_at is None and state.removed_at is None


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
