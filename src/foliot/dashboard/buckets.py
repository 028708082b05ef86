"""A timeline of a job that runs too often for a mark each: one mark for all that happened in a short time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from foliot.api.answers import OccurrenceAnswer
from foliot.dashboard.words import tone_of
from foliot.model.attempt import Attempt, Outcome
from foliot.model.state import Skip
from foliot.operations import Fate
from foliot.schedules import Schedule

_BUCKETS = 160
_INSTANT = timedelta(microseconds=1)
_WORST = ("bad", "busy", "wait", "rest", "none", "good")


class Span(NamedTuple):
    """The time that is drawn. `since`: when the job had its rule first."""

    first: datetime
    last: datetime
    now: datetime
    since: datetime
    zone: ZoneInfo


def gather(
    attempts: Sequence[Attempt], skips: Sequence[Skip], rule: Schedule | None, span: Span
) -> list[OccurrenceAnswer]:
    """Lines for a timeline. Without a rule, nothing is planned.

    Each stands for a part of the time: it has the worst that became of one of its occurrences, and tells how
    many they are.
    """
    first, last, now, since, zone = span
    size = (last - first) / _BUCKETS
    ran: dict[int, list[Attempt]] = {}
    last_tries = {attempt.run_key: attempt for attempt in sorted(attempts, key=lambda one: one.number)}
    for attempt in last_tries.values():
        ran.setdefault((attempt.scheduled_for - first) // size, []).append(attempt)
    found = []
    for number in range(_BUCKETS):
        begin, end = first + number * size, first + (number + 1) * size
        if number in ran:
            found.append(_of_runs(ran[number], zone))
        elif end <= now:
            found += _of_skips(skips, max(begin, since), end, zone)
        elif rule is not None:
            found += _of_plan(rule, max(begin, now), end, zone)
    return found


def _of_runs(attempts: Sequence[Attempt], zone: ZoneInfo) -> OccurrenceAnswer:
    words = [(attempt.outcome or attempt.state).value for attempt in attempts]
    tones = list(map(tone_of, words))
    worst = min(range(len(words)), key=lambda place: _WORST.index(tones[place]))
    bad = tones.count("bad")
    told = f"{len(words)} runs here" + (f", {bad} of them did not succeed" if bad else "")
    one = attempts[worst]
    fate = Fate.RUNS if one.is_open else Fate.RAN
    return _line(one.scheduled_for, zone, fate, told, one.outcome)


def _of_skips(
    skips: Sequence[Skip], begin: datetime, end: datetime, zone: ZoneInfo
) -> Iterator[OccurrenceAnswer]:
    found = next((skip for skip in skips if skip.first < end and skip.last >= begin), None)
    if found is not None:
        yield _line(max(found.first, begin), zone, Fate.SKIPPED, found.reason)


def _of_plan(rule: Schedule, begin: datetime, end: datetime, zone: ZoneInfo) -> Iterator[OccurrenceAnswer]:
    following = rule.next_after(begin - _INSTANT)
    if following is not None and following < end:
        count = rule.count(following, end - _INSTANT)
        yield _line(following, zone, Fate.PLANNED, f"{count} are planned here")


def _line(
    at: datetime, zone: ZoneInfo, fate: Fate, told: str, outcome: Outcome | None = None
) -> OccurrenceAnswer:
    return OccurrenceAnswer(
        at=at, wall=at.astimezone(zone), zone=zone.key, verdict=fate, reason=told, run=None, covered_by=None,
        outcome=outcome, dst=None,
    )  # fmt: skip
