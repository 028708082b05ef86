"""How many occurrences of a cron rule lie in a range, without visiting them.

    range ──▶ spells of constant offset ──▶ wall times, from … to … ──▶ how many lie below each end

The number of matching wall times below a given one is arithmetic: whole days by a table, then hours, minutes
and seconds by counting the bits of the masks. The calendar repeats after 400 years, weekdays included, so the
tables are small. Within a spell the clock on the wall runs evenly. A wall time that is left out lies in no
spell, and one that comes twice lies in two: each counts as often as it fires. Where a rule is not `exact`
about that (`around`), a spell begins after what it repeats, and counts what ran late at its start.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import accumulate, groupby
from operator import itemgetter

from foliot.schedules.cron_syntax import CronFields
from foliot.schedules.dial import DayRule, Tables, matching_days, year_kind
from foliot.schedules.schedule import EPOCH, since_epoch
from foliot.schedules.search import FIRST, LAST, in_utc
from foliot.schedules.twin import CYCLE, ROW_END
from foliot.schedules.zone import UTC_NAMES, changes, spells

_SECOND = timedelta(seconds=1)
_DAY = 86_400
_CYCLE = 146_097  # days in so many years
_START = -(EPOCH.toordinal() - 1) * _DAY  # of the calendar, in seconds since 1970
_END = _START + date.max.toordinal() * _DAY
_RULED = (ROW_END - EPOCH) // _SECOND
_SPARE = 2 * _DAY  # at the calendar's end, which not every zone can show in full
_FAR = 10**12  # seconds; beyond either end of the calendar, whatever the offset


def count_cron(tables: Tables, first: datetime, last: datetime) -> int:
    """How many occurrences lie in [first, last].

    Where the clocks are moved by rule, they repeat with the calendar: of whole cycles, one is counted.
    """
    begin, end = -(-since_epoch(first) // _SECOND), since_epoch(last) // _SECOND + 1
    middle = max(begin, _RULED)
    cycles = (end - _SPARE - middle) // (_CYCLE * _DAY)
    if cycles < 1:
        return _count(tables, in_utc(first), begin, end)
    return (
        _count(tables, in_utc(first), begin, middle)
        + _count(tables, _instant(middle), middle, middle + _CYCLE * _DAY) * cycles
        + _count(tables, _instant(middle + _CYCLE * _DAY * cycles), middle + _CYCLE * _DAY * cycles, end)
    )


def _count(tables: Tables, first: datetime, begin: int, end: int) -> int:
    """How many occurrences lie in [begin, end), in seconds since 1970; `first` is that begin."""
    total = 0
    for since, until, offset in _spells(tables, first, end):
        if tables.around is not None:
            since, late = _settled(tables, since)  # noqa: PLW2901 - where the spell begins for this rule
            total += late and begin <= since < end
        high = min(end, until)
        low = min(max(begin, since), high)
        total += _below(tables, high + offset) - _below(tables, low + offset)
    return total


def _spells(tables: Tables, first: datetime, end: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and offset of each spell from an instant to an end, in seconds since 1970.

    Spells that only a new year parts are one.
    """
    if tables.zone.key in UTC_NAMES:
        yield -_FAR, _FAR, 0
        return
    for offset, some in groupby(_until(tables, first, end), itemgetter(2)):
        parts = list(some)
        yield parts[0][0], parts[-1][1], offset


def _until(tables: Tables, first: datetime, end: int) -> Iterator[tuple[int, int, int]]:
    for start, stop, offset in spells(tables.zone, first, direction=1):
        # Instants a few hours beyond the calendar have a wall time inside it.
        since = -_FAR if start == FIRST else (start - EPOCH) // _SECOND
        if since >= end:
            return
        yield since, _FAR if stop == LAST else (stop - EPOCH) // _SECOND, offset // _SECOND


def _instant(seconds: int) -> datetime:
    return EPOCH + seconds * _SECOND


def _settled(tables: Tables, since: int) -> tuple[int, bool]:
    """Where a spell begins for a rule, and whether it runs just then for a gap, at no time of its own."""
    start = _instant(since) if since != -_FAR else FIRST
    change = next((change for change in changes(tables.zone, start.year) if change.at == start), None)
    if change is None or tables.around is None:
        return since, False
    if tables.around.is_single(change):
        return since + change.length // _SECOND, False
    if not tables.around.is_late(change):
        return since, False
    resumed = (change.wall_end.replace(tzinfo=UTC) - EPOCH) // _SECOND
    below = _below(tables, resumed)
    is_left_out = below > _below(tables, resumed - change.length // _SECOND)
    return since, is_left_out and _below(tables, resumed + 1) == below


def _below(tables: Tables, wall: int) -> int:
    """How many wall times before this one match; it is given in seconds since 1970 on that wall."""
    day, second = divmod(min(max(wall, _START), _END) - _START, _DAY)
    fields = tables.fields
    before, matches = _days(tables.day_rule, day)
    total = before * fields.hours.bit_count() * fields.minutes.bit_count() * fields.seconds.bit_count()
    return total + _times(fields, second) if matches else total


def _times(fields: CronFields, second: int) -> int:
    """How many times of a day match before a second of it."""
    hour, minute = second // 3600, second // 60 % 60
    total = _bits(fields.hours, hour) * fields.minutes.bit_count() * fields.seconds.bit_count()
    if fields.hours >> hour & 1:
        total += _bits(fields.minutes, minute) * fields.seconds.bit_count()
        if fields.minutes >> minute & 1:
            total += _bits(fields.seconds, second % 60)
    return total


def _bits(mask: int, value: int) -> int:
    """How many values of a mask are smaller than this one."""
    return (mask & (1 << value) - 1).bit_count()


def _days(rule: DayRule, day: int) -> tuple[int, bool]:
    """How many days before this one match, counted from the calendar's first; and whether it does itself."""
    cycles, day = divmod(day, _CYCLE)
    years = _days_of_years(rule)
    found = date.fromordinal(day + 1)
    within = _days_of_year(rule, *year_kind(found.year))
    index = day + 1 - date(found.year, 1, 1).toordinal()
    total = cycles * years[CYCLE] + years[found.year - 1] + within[index]
    return total, within[index + 1] > within[index]


@lru_cache(maxsize=1024)
def _days_of_years(rule: DayRule) -> tuple[int, ...]:
    """How many days match in the first 0, 1, 2, … 400 years."""
    counts = (_days_of_year(rule, *year_kind(year))[-1] for year in range(1, CYCLE + 1))
    return tuple(accumulate(counts, initial=0))


@lru_cache(maxsize=2048)
def _days_of_year(rule: DayRule, first_weekday: int, is_leap: bool) -> tuple[int, ...]:  # noqa: FBT001 - see `_day_table`
    """How many of the first 0, 1, 2, … days of such a year match."""
    matching = matching_days(rule, first_weekday, is_leap=is_leap)
    dates = (date(2000 if is_leap else 2001, 1, 1) + timedelta(n) for n in range(365 + is_leap))
    return tuple(accumulate((day.month * 32 + day.day in matching for day in dates), initial=0))
