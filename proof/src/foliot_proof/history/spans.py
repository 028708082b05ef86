"""Spans of time, as sorted lists of pairs, and the few things that are done with them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from operator import itemgetter

Span = tuple[datetime, datetime]

_NOTHING = timedelta(0)
_BEGIN = itemgetter(0)


def merged(spans: Iterable[Span], gap: timedelta = _NOTHING) -> list[Span]:
    """The same times without overlaps, in order; what lies closer together than a gap becomes one."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin - found[-1][1] <= gap:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif end >= begin:
            found.append((begin, end))
    return found


def between(spans: Sequence[Span], begin: datetime, end: datetime) -> list[Span]:
    """What lies between merged spans, from begin to end."""
    found = []
    cursor = begin
    for first, last in spans:
        if first > cursor:
            found.append((cursor, min(first, end)))
        cursor = max(cursor, last)
        if cursor >= end:
            break
    if cursor < end:
        found.append((cursor, end))
    return found


def crowded(spans: Iterable[Span], most: int) -> list[Span]:
    """Where at least so many spans lie over each other."""
    steps = sorted(step for begin, end in spans if end > begin for step in ((begin, 1), (end, -1)))
    found: list[Span] = []
    depth, since = 0, None
    for at, step in steps:
        depth += step
        if depth >= most and since is None:
            since = at
        elif depth < most and since is not None:
            found.append((since, at))
            since = None
    return merged(found)


def at_or_after(spans: Sequence[Span], instant: datetime) -> int:
    """The index of the first of merged spans that ends after an instant."""
    index = bisect_right(spans, instant, key=_BEGIN)
    return index - 1 if index and spans[index - 1][1] > instant else index


def covering(spans: Sequence[Span], instant: datetime) -> Span | None:
    """The one of merged spans that an instant lies in."""
    index = bisect_right(spans, instant, key=_BEGIN) - 1
    return spans[index] if index >= 0 and spans[index][1] >= instant else None


def touches(spans: Sequence[Span], begin: datetime, end: datetime) -> bool:
    """Whether one of merged spans shares a moment with [begin, end]."""
    index = bisect_right(spans, end, key=_BEGIN) - 1
    return index >= 0 and spans[index][1] >= begin


def shared(spans: Sequence[Span], begin: datetime, end: datetime) -> timedelta:
    """How much of [begin, end] merged spans cover."""
    found = _NOTHING
    for first, last in spans[at_or_after(spans, begin) :]:
        if first >= end:
            break
        found += min(last, end) - max(first, begin)
    return found


def first_room(
    free: Sequence[Span], blockers: Sequence[Span], since: datetime, until: datetime, length: timedelta
) -> datetime | None:
    """When the first stretch of free, unblocked time that is so long ends, if it ends in time."""
    for begin, end in free[at_or_after(free, since) :]:
        start = max(begin, since)
        index = at_or_after(blockers, start)
        while start + length <= min(end, until):
            if index == len(blockers) or blockers[index][0] >= start + length:
                return start + length
            start = blockers[index][1]
            index += 1
        if begin > until:
            break
    return None
