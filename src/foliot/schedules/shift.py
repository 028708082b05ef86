"""The wall times of a rule that a change of the clocks leaves out, or shows twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta

from foliot.schedules.cron import Cron
from foliot.schedules.cron_syntax import CronFields
from foliot.schedules.explain_day import days_of
from foliot.schedules.field import HOUR, MINUTE
from foliot.schedules.zone import Change, changes, load_zone

_TICK = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_LEAP_DAY = (2, 29)
_CALENDAR_START = datetime.min.replace(tzinfo=UTC)
_CALENDAR_END = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """What one change of the clocks does to a rule.

    `walls` are the first of the wall times concerned (naive), `count` says how many there are.
    `keeps_rhythm`: in elapsed time the rule goes on as if the clocks had not been moved. `is_settled`: the
    rule's `dst` has what is left out run after the gap, or what comes twice run once.
    """

    change: Change
    walls: tuple[datetime, ...]
    count: int
    keeps_rhythm: bool
    is_settled: bool = False


def shifts(rule: Cron, after: datetime, *, years: int, most: int) -> Iterator[Shift]:
    """The changes of the next years that concern a rule, with at most so many wall times of each."""
    if rule.fields is None:
        return
    # Wall times are looked up on the clock of UTC, which shows each exactly once.
    even = Cron(rule.canonical, timezone="UTC", dialect=rule.dialect)
    after = _in_utc(after)
    for change in _changes(rule.timezone, after, years):
        # A wall time whose first showing is over does not come twice any more.
        start = max(change.wall_start.replace(tzinfo=UTC) - _TICK, after + change.before)
        count = _count(even, rule.fields, start, change.wall_end.replace(tzinfo=UTC))
        if count:
            walls = even.upcoming(start, min(count, most))
            yield Shift(
                change=change,
                walls=tuple(wall.replace(tzinfo=None) for wall in walls),
                count=count,
                keeps_rhythm=_keeps_rhythm(rule.fields, change),
                is_settled=rule.around is not None
                and (rule.around.is_late(change) or rule.around.is_single(change)),
            )


def _in_utc(instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        return _CALENDAR_START if instant.year == MINYEAR else _CALENDAR_END


def _changes(timezone: str, after: datetime, years: int) -> Iterator[Change]:
    """The changes of a zone's clocks after an instant, up to the same date so many years on."""
    zone, last_year = load_zone(timezone), after.year + years
    until = _CALENDAR_END
    if last_year <= MAXYEAR:
        is_leap_day = (after.month, after.day) == _LEAP_DAY
        until = after.replace(year=last_year, day=after.day - is_leap_day)
    for year in range(after.year, min(last_year, MAXYEAR) + 1):
        yield from (change for change in changes(zone, year) if after < change.at <= until)


def _count(even: Cron, fields: CronFields, start: datetime, end: datetime) -> int:
    """How many wall times of a rule lie after a start and before an end, without visiting each."""
    count = 0
    wall = even.next_after(start)
    while wall is not None and wall < end:
        midnight = wall.replace(hour=0, minute=0, second=0)
        stop = min(end, midnight + _DAY)
        count += _times_before(fields, stop - midnight) - _times_before(fields, wall - midnight)
        wall = even.next_after(stop - _TICK)
    return count


def _times_before(fields: CronFields, since_midnight: timedelta) -> int:
    """How many times of day a rule has before a time of day."""
    total_minutes, second = divmod(since_midnight // _SECOND, 60)
    hour, minute = divmod(total_minutes, 60)
    per_minute = fields.seconds.bit_count()
    per_hour = fields.minutes.bit_count() * per_minute
    count = _below(fields.hours, hour) * per_hour
    if fields.hours >> hour & 1:
        count += _below(fields.minutes, minute) * per_minute
        if fields.minutes >> minute & 1:
            count += _below(fields.seconds, second)
    return count


def _below(mask: int, value: int) -> int:
    return (mask & (1 << value) - 1).bit_count()


def _keeps_rhythm(fields: CronFields, change: Change) -> bool:
    """Whether the rule runs in every hour, and at the same minutes before and after the change."""
    length = abs(change.after - change.before)
    minutes, rest = divmod(length, _MINUTE)
    turn = minutes % 60
    turned = (fields.minutes << turn | fields.minutes >> 60 - turn) & MINUTE.full
    if rest or fields.hours != HOUR.full or turned != fields.minutes:
        return False
    # Where a whole day is left out, only a rule for all days does not notice.
    return length < _DAY or days_of(fields).is_every_day
