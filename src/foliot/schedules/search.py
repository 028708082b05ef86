"""The search for the occurrence of a cron rule that is nearest to an instant.

The search works on wall time, as a person reads it off the clock on the wall, because that is what
the fields speak of: day table, then hour, minute and second dial, each a lookup. Wall time and
instants agree one to one except on the few days on which a zone's clocks are moved. The day tables
mark those days, and only a search that starts or ends on one takes the slow road: spell by spell of
constant offset, in each of which the clock on the wall runs evenly. A wall minute that is left out
is in no spell and never fires; one that comes twice is in two, and fires twice. A rule that is not `exact`
about that (`around`) takes this answer, and looks whether something else comes before it.

Every match of a rule may be left out, such as 02:30 on each last Sunday of March. The slow road asks for the
last occurrence of all (`_last_of_all`) before it goes on for more than a year.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import MINYEAR, UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from foliot.errors import NaiveInstantError
from foliot.schedules.around import is_repeated
from foliot.schedules.cron_syntax import CronFields
from foliot.schedules.dial import IRREGULAR, NO_DAY, Direction, Tables
from foliot.schedules.schedule import check_aware
from foliot.schedules.twin import ROW, ROW_END
from foliot.schedules.zone import Change, changes, is_regular, spells

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_LONGEST_REPEAT = timedelta(days=2)
_EVEN = ZoneInfo("UTC")


def nearest(tables: Tables, instant: datetime) -> datetime | None:  # noqa: C901, PLR0912 - the hot path, unrolled
    """The nearest occurrence after an instant (way up), or at or before it (way down)."""
    zone = tables.zone
    try:
        given = instant.tzinfo
        if given is not zone and given is not tables.zone_alias:
            converted = _convert(tables, instant)
            if converted is None:
                return None
            instant = converted
        year = instant.year
    except AttributeError:
        raise NaiveInstantError(instant) from None
    today = instant.month << 5 | instant.day
    try:
        days = tables.years[year]
    except KeyError:
        days = tables.days(year)
    day = days[today]
    hour, minute, second = tables.start
    if day == today:
        direction = tables.direction
        this_hour = instant.hour
        if tables.hours[this_hour] == this_hour:
            this_minute = instant.minute
            if tables.minutes[this_minute] == this_minute:
                this_second = tables.seconds[instant.second + tables.ahead]
                if this_second is not None:
                    return datetime(year, day >> 5, day & 31, this_hour, this_minute, this_second, 0, zone)
            next_minute = tables.minutes[this_minute + direction]
            if next_minute is not None:
                return datetime(year, day >> 5, day & 31, this_hour, next_minute, second, 0, zone)
        next_hour = tables.hours[this_hour + direction]
        if next_hour is None:
            day = days[today + direction]
        else:
            hour = next_hour
    if day == NO_DAY:
        try:
            year, day = tables.turns[year]
        except KeyError:
            year, day = tables.turn(year)
        if day == NO_DAY:
            return None
    if day == IRREGULAR:
        return _by_spells(tables, instant) if tables.around is None else _around(tables, instant)
    return datetime(year, day >> 5, day & 31, hour, minute, second, 0, zone)


def _convert(tables: Tables, instant: datetime) -> datetime | None:
    """The instant as the clocks of the zone show it; None if the search has left the calendar."""
    check_aware(instant)
    try:
        return instant.astimezone(tables.zone)
    except OverflowError:
        is_start = instant.year == MINYEAR
        if is_start == (tables.direction < 0):
            return None
        return FIRST.replace(tzinfo=tables.zone) if is_start else LAST.replace(tzinfo=tables.zone)


def _by_spells(tables: Tables, instant: datetime) -> datetime | None:
    """The search across changes of the clocks."""
    even = _on_an_even_clock(tables.fields, tables.direction)
    instant = in_utc(instant)
    walk = spells(tables.zone, instant, direction=tables.direction)
    while spell := next(walk, None):
        start, end, offset = spell
        if abs(start.year - instant.year) > 1 and (last := _last_of_all(tables, instant)) is not None:
            return None if tables.direction > 0 else last
        is_inside = start <= instant < end
        begin = instant if is_inside else (start if tables.direction > 0 else end) - _TICK
        wall = nearest(even, begin + offset)
        if wall is None:
            return None
        try:
            found = wall - offset
        except OverflowError:  # only in the calendar's last hours, when no clocks are moved any more
            return wall.replace(tzinfo=tables.zone)
        if start <= found < end:
            return found.astimezone(tables.zone)
        if not is_inside and end - start > _LONGEST_REPEAT:
            # No later change sets the clocks back to before this spell, so nothing else can match
            # between here and there: no need to walk years of spells up to a leap day.
            if is_regular(tables.zone, wall):
                return wall.replace(tzinfo=tables.zone)
            if abs(wall.year - start.year) > 1:
                walk = spells(tables.zone, _year_before(wall, tables.direction), direction=tables.direction)
    return None


def _year_before(wall: datetime, direction: Direction) -> datetime:
    """A time shortly before the year of a wall time, seen in the direction of the search."""
    return (
        datetime(wall.year - 1, 12, 1, tzinfo=UTC)
        if direction > 0
        else datetime(wall.year + 1, 2, 1, tzinfo=UTC)
    )


def _last_of_all(tables: Tables, instant: datetime) -> datetime | None:
    """The last occurrence of all, if it is not after an instant; None: there is no last one, or it is."""
    # Backward, this is asked where the answer spares the walk through the centuries without an occurrence.
    if tables.direction < 0 and instant < ROW_END:
        return None
    last = _last_before_row(tables.fields, tables.zone)
    return last if last is not None and in_utc(last) <= instant else None


@lru_cache(maxsize=4096)
def _last_before_row(fields: CronFields, zone: ZoneInfo) -> datetime | None:
    """The last occurrence, if none of the 28 years that all later ones are like (`twin`) has one.

    Such a rule has a last one, because zones have moved their clocks for two centuries only.
    """
    last = _by_spells(Tables(fields, zone, -1), ROW_END - _TICK)
    return None if last is None or in_utc(last).year >= ROW.start else last


def _around(tables: Tables, instant: datetime) -> datetime | None:
    """The same search, for a rule that is not exact where the clocks are moved."""
    begin = in_utc(instant)
    found = _first_showing(tables, _by_spells(tables, instant))
    edge = LAST if tables.direction > 0 else FIRST
    for gap in _gaps(tables, begin, edge if found is None else in_utc(found)):
        if is_missed(tables.fields, gap):
            return gap.at.astimezone(tables.zone)
    return found


def _first_showing(tables: Tables, found: datetime | None) -> datetime | None:
    """An occurrence, or the next one that does not repeat a wall time."""
    while found is not None and (change := _repeat(tables, in_utc(found))) is not None:
        end = change.at + change.length if tables.direction > 0 else change.at
        found = _by_spells(tables, end - _TICK)
    return found


def _repeat(tables: Tables, instant: datetime) -> Change | None:
    """The change by which an instant repeats a wall time that counts once."""
    for year in {instant.year, max(instant.year - 1, MINYEAR)}:
        for change in changes(tables.zone, year):
            if tables.around and tables.around.is_single(change) and is_repeated(change, instant):
                return change
    return None


def _gaps(tables: Tables, begin: datetime, end: datetime) -> Iterator[Change]:
    """The gaps after which a rule runs late, from an instant to an occurrence, in the order of the search."""
    way = tables.direction
    if not (tables.around and tables.around.runs_after_gap):
        return
    low, high = min(begin, end), max(begin, end)
    for year in range(begin.year, end.year + way, way):
        for change in changes(tables.zone, year)[::way]:
            is_between = low < change.at <= high and not (way > 0 and change.at == high)
            if is_between and tables.around.is_late(change):
                yield change


def is_missed(fields: CronFields, gap: Change) -> bool:
    """Whether a gap leaves out a wall time of a rule."""
    wall = nearest(_on_an_even_clock(fields, 1), gap.wall_start.replace(tzinfo=UTC) - _TICK)
    return wall is not None and wall < gap.wall_end.replace(tzinfo=UTC)


def in_utc(instant: datetime) -> datetime:
    """The same instant in UTC, or the end of the calendar that it lies beyond."""
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        return FIRST if instant.year == MINYEAR else LAST


@lru_cache(maxsize=4096)
def _on_an_even_clock(fields: CronFields, direction: Direction) -> Tables:
    """The tables for the same rule where the clocks are never moved."""
    return Tables(fields, _EVEN, direction)
