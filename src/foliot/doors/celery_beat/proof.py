"""The proof that a job runs when Celery would have sent its entry: both are asked for the next occurrences.

Celery's own object is asked for one after the other, each time as if it had just been sent on time. The two
differ where clocks are moved, and there only:

    a wall time that does not exist   Celery moves it by the length of the gap, Foliot leaves it out
    a wall time that comes twice      Celery takes it the first time, Foliot both times

An interval has no phase of its own with Celery, so only its length could differ; with `relative=True` Celery
rounds to minutes, hours or days of its zone, and that is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from foliot.doors.celery_beat.rule import as_utc
from foliot.doors.celery_beat.translate import Translated
from foliot.schedules import Cron, Once, Schedule

MOST_COMPARED = 1000
_HORIZON = timedelta(days=36_525)
_MOST_SHOWN = 3
_TICK = timedelta(microseconds=1)


class Difference(NamedTuple):
    """Occurrences that only one of the two has, and why. `times` are the first of them, in the job's zone."""

    cause: str
    total: int
    times: tuple[datetime, ...]


class Proof(NamedTuple):
    """How many occurrences of Celery's were compared, and what was different."""

    compared: int
    differences: tuple[Difference, ...]


class _Step(NamedTuple):
    """One occurrence as Celery has it. `is_moved`: it had a wall time in mind that does not exist."""

    at: datetime
    is_moved: bool = False


def prove(translated: Translated, app: Any, start: datetime, most: int = MOST_COMPARED) -> Proof:
    """Compare the next occurrences after an instant."""
    schedule, rule = translated.entry.schedule, translated.job.schedule
    if isinstance(rule, Once):  # it was taken over as it is
        return Proof(1, ())
    start = as_utc(start)
    if isinstance(rule, Cron):
        found = _steps_of_crontab(schedule, app, start)
    elif schedule.relative:
        start = as_utc(rule.previous(start) or start)
        found = _steps_of_interval(schedule, app, start)
    else:
        return Proof(most, ())  # the same length: the phase is a note
    steps = {}
    for step in found:
        steps[step.at] = step
        if len(steps) >= most:
            break
    return Proof(len(steps), tuple(_differences(rule, start, steps)))


def _steps_of_crontab(schedule: Any, app: Any, start: datetime) -> Iterator[_Step]:
    schedule = copy(schedule)  # it remembers the zone of the first application that has asked
    schedule.app = app
    at = start
    while True:
        last, delta, _ = schedule.remaining_delta(at)
        try:
            wall = last + delta
            following = wall.astimezone(UTC)
        except (ValueError, OverflowError):  # the end of the calendar
            return
        if following <= at or following - start > _HORIZON:
            return
        back = following.astimezone(wall.tzinfo)
        yield _Step(following, is_moved=back.replace(tzinfo=None) != wall.replace(tzinfo=None))
        at = following


def _steps_of_interval(schedule: Any, app: Any, start: datetime) -> Iterator[_Step]:
    from celery.utils.time import remaining  # noqa: PLC0415 - see the package's docstring

    at = start
    while True:
        here = at.astimezone(app.timezone)
        wait: timedelta = remaining(here, schedule.run_every, here, schedule.relative)
        if wait <= timedelta(0) or at + wait - start > _HORIZON:
            return
        at += wait
        yield _Step(at)


def _differences(rule: Schedule, start: datetime, steps: dict[datetime, _Step]) -> Iterator[Difference]:
    last = max(steps, default=start)
    ours = {as_utc(at) for at in _until(rule, start, last)}
    only_celery = sorted(steps.keys() - ours)
    only_foliot = sorted(ours - steps.keys())
    if not isinstance(rule, Cron):
        if only_celery or only_foliot:
            cause = "relative=True rounds to the clock of Celery's zone; Foliot counts from 1970-01-01 UTC"
            yield _difference(rule, cause, [*only_celery, *only_foliot])
        return
    groups: dict[str, list[datetime]] = {}
    for at in only_celery:
        cause = (
            "the clocks go forward, and its time does not exist that day: Celery runs it so much later,"
            " Foliot leaves it out"
        )
        groups.setdefault(cause if steps[at].is_moved else _UNKNOWN, []).append(at)
    for at in only_foliot:
        cause = (
            "the clocks go back, and its time comes twice: Celery runs it the first time, Foliot both times"
        )
        groups.setdefault(cause if _is_second(rule, at) else _UNKNOWN, []).append(at)
    for cause, times in groups.items():
        yield _difference(rule, cause, times)


_UNKNOWN = "no cause is known: please report it, with the schedule"


def _difference(rule: Schedule, cause: str, times: list[datetime]) -> Difference:
    zone = getattr(rule.next_after(times[0]), "tzinfo", UTC)
    return Difference(cause, len(times), tuple(at.astimezone(zone) for at in sorted(times)[:_MOST_SHOWN]))


def _until(rule: Schedule, start: datetime, last: datetime) -> Iterator[datetime]:
    at = rule.next_after(start)
    while at is not None and as_utc(at) <= last:
        yield at
        at = rule.next_after(at)


def _is_second(rule: Cron, at: datetime) -> bool:
    """Whether the clocks have shown this wall time before."""
    found = rule.previous(at)
    return found is not None and found.fold == 1
