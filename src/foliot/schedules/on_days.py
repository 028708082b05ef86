"""`OnDays`: a rule on some days only, by calendars.

The rule is asked for its next occurrence; if that is on a day that is not left, the search leaps to the next
day that is. A leap needs a midnight that is there exactly once. Near a change of the clocks the search only
goes on to the end of the day or to the change, because a day may begin twice or not at all. What is left may
never come again, as with a rule alone (`search`): before a second year is gone through, it asks for the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import groupby
from zoneinfo import ZoneInfo

from foliot.errors import InvalidScheduleError
from foliot.schedules.cron import Cron
from foliot.schedules.day_filter import Calendar, DayFilter, day_filter, rule_of
from foliot.schedules.dial import Direction
from foliot.schedules.every import Every
from foliot.schedules.schedule import Schedule, since_epoch
from foliot.schedules.search import FIRST, LAST, in_utc
from foliot.schedules.zone import is_regular, load_zone, spells

_TICK = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_CLEAR = 3 * _DAY  # so far from a day whose clocks are moved, every day has one midnight


@dataclass(frozen=True, slots=True, init=False)
class OnDays(Schedule):
    """A rule without the days of `exclude`, and only on the days of `only`: of each calendar there.

    `OnDays(Cron("0 9 * * *", timezone="Europe/Berlin"), exclude=[Calendar("de", dates)])`. Days are whole,
    by the clocks of the rule's zone. A day that is left out has no occurrence.
    """

    rule: Cron | Every
    exclude: tuple[Calendar, ...] = field(kw_only=True)
    only: tuple[Calendar, ...] = field(kw_only=True)
    _days: DayFilter = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        rule: Cron | Every,
        *,
        exclude: Calendar | Iterable[Calendar] = (),
        only: Calendar | Iterable[Calendar] = (),
    ) -> None:
        if not isinstance(rule, Cron | Every):
            raise InvalidScheduleError("rule", rule, "must be a Cron or an Every")
        out, within = _calendars("exclude", exclude), _calendars("only", only)
        fields = rule.fields if isinstance(rule, Cron) else None
        days = day_filter(None if fields is None else rule_of(fields), out, within)
        for name, value in (("rule", rule), ("exclude", out), ("only", within), ("_days", days)):
            object.__setattr__(self, name, value)
        if self.next_after(FIRST + 2 * _DAY) is None:  # before, some zones cannot tell the time
            names = ", ".join(one.name for one in (*out, *within))
            raise InvalidScheduleError("days", names, f"leave no occurrence of {rule}")

    def __str__(self) -> str:
        words = [str(self.rule)]
        for word, calendars in (("except", self.exclude), ("only", self.only)):
            if calendars:
                words.append(f"{word} {', '.join(one.name for one in calendars)}")
        return " ".join(words)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.rule, self.exclude, self.only)

    @property
    def timezone(self) -> str:
        """The zone of the rule, whose days count."""
        return self.rule.timezone

    def next_after(self, instant: datetime) -> datetime | None:
        return self._search(self.rule.next_after(instant), 1)

    def previous(self, instant: datetime) -> datetime | None:
        return self._search(self.rule.previous(instant), -1)

    def matches(self, instant: datetime) -> bool:
        latest = self.rule.previous(instant) if self.rule.matches(instant) else None
        return latest is not None and self._days.allows(latest.date())

    def count(self, first: datetime, last: datetime) -> int:
        """Stretch by stretch: the rule counts where days are left; near changes of the clocks, one by one."""
        total = 0
        for start, end, is_even, is_left in self._stretches(first, last):
            if not is_even:
                total += Schedule.count(self, start, end)
            elif is_left:
                total += self.rule.count(start, end)
        return total

    def keeps_out(self, instant: datetime) -> str:
        """Which calendar takes an instant of the rule away, in words; empty: none does."""
        latest = self.rule.previous(instant) if self.rule.matches(instant) else None
        if latest is None:
            return ""
        day = latest.date()
        for one in self.exclude:
            if day in one:
                return f"{day} is a day of the calendar {one.name}, and it runs except on those"
        for one in self.only:
            if day not in one:
                return f"{day} is no day of the calendar {one.name}, and it runs only on those"
        return ""

    # -- the search --------------------------------------------------------------------------------

    def _search(self, found: datetime | None, direction: Direction) -> datetime | None:
        begin = found
        while found is not None and begin is not None and not self._days.allows(found.date()):
            if abs(found.year - begin.year) > 1 and (last := self._last_of_all(begin, direction)) is not None:
                return None if direction > 0 else last
            found = self._leap(found, direction)
        return found

    def _last_of_all(self, instant: datetime, direction: Direction) -> datetime | None:
        """The last occurrence of all, if it is not after an instant; None: there is no last one, or it is."""
        row = self._days.row
        if row is None or not isinstance(self.rule, Cron) or self.rule.fields is None:
            return None  # days that end are found at once, and a grid does not repeat with the calendar
        if direction < 0 and in_utc(instant).year < row.stop:
            return None
        last = _last_before(self, row)
        return last if last is not None and in_utc(last) <= in_utc(instant) else None

    def _leap(self, found: datetime, direction: Direction) -> datetime | None:
        """The next occurrence to look at, after one on a day that is not left."""
        zone, day = load_zone(self.timezone), found.date()
        if not _is_even(zone, day):
            return self._skip(found, direction)
        try:
            target = self._days.nearest(day + direction * _DAY, direction)
            if target is None:
                return None
            edge = target if direction > 0 else target + _DAY
            if not _is_even(zone, target):
                edge -= direction * _CLEAR
        except OverflowError:  # the end of the calendar
            return self._step(found, direction)
        landing = datetime.combine(edge, time(), zone) - _TICK
        if (since_epoch(landing) - since_epoch(found)) * direction <= timedelta(0):
            return self._step(found, direction)
        return self.rule.next_after(landing) if direction > 0 else self.rule.previous(landing)

    def _skip(self, found: datetime, direction: Direction) -> datetime | None:
        """The next occurrence on another day, or beyond a change of the clocks."""
        spell = next(spells(load_zone(self.timezone), in_utc(found), direction=1), None)
        if spell is None:  # beyond the calendar of UTC
            return self._step(found, direction)
        start, end, offset = spell
        midnight = datetime.combine(found.date(), time(), UTC)
        try:
            if direction > 0:
                return self.rule.next_after(min(end, midnight + _DAY - offset) - _TICK)
            return self.rule.previous(max(start, midnight - offset) - _TICK)
        except OverflowError:  # the end of the calendar
            return self._step(found, direction)

    def _step(self, found: datetime, direction: Direction) -> datetime | None:
        if direction > 0:
            return self.rule.next_after(found)
        return self.rule.previous(in_utc(found) - _TICK) if in_utc(found) > FIRST else None

    def _stretches(self, first: datetime, last: datetime) -> Iterator[tuple[datetime, datetime, bool, bool]]:
        """Parts of a range: from, to, whether its days have one midnight each, whether they are left."""
        if since_epoch(first) > since_epoch(last):
            return
        zone, start = load_zone(self.timezone), first
        begin, end = _date_of(first, zone), _date_of(last, zone)
        days = (date.fromordinal(n) for n in range(min(begin, end).toordinal(), end.toordinal() + 1))
        for (is_even, is_left), some in groupby(days, lambda day: self._kind_of(day, zone)):
            final = max(some)
            is_last = final >= end
            stop = last if is_last else datetime.combine(final + _DAY, time(), zone) - _TICK
            yield start, stop, is_even, is_left
            if is_last:
                return
            start = datetime.combine(final + _DAY, time(), zone)

    def _kind_of(self, day: date, zone: ZoneInfo) -> tuple[bool, bool]:
        is_even = _is_even(zone, day)
        return is_even, is_even and self._days.allows(day)


def _calendars(name: str, given: Calendar | Iterable[Calendar]) -> tuple[Calendar, ...]:
    found = (given,) if isinstance(given, Calendar) else tuple(given)
    for one in found:
        if not isinstance(one, Calendar):
            raise InvalidScheduleError(name, one, "must be a Calendar, or several")
    return found


@lru_cache(maxsize=256)
def _last_before(schedule: OnDays, row: range) -> datetime | None:
    """The last occurrence, if no year of the row has one; None: it comes again and again."""
    last = schedule.previous(datetime(row.stop, 1, 1, tzinfo=UTC) - _TICK if row.stop <= MAXYEAR else LAST)
    return None if last is None or in_utc(last).year >= row.start else last


@lru_cache(maxsize=4096)
def _is_even(zone: ZoneInfo, day: date) -> bool:
    """Whether the midnights around a day are there exactly once."""
    try:
        near = [day + n * _DAY for n in (-1, 0, 1)]
    except OverflowError:
        return False
    return all(is_regular(zone, datetime.combine(one, time())) for one in near)


def _date_of(instant: datetime, zone: ZoneInfo) -> date:
    try:
        return instant.astimezone(zone).date()
    except OverflowError:
        return instant.date()


def _rebuild(rule: Cron | Every, exclude: tuple[Calendar, ...], only: tuple[Calendar, ...]) -> OnDays:
    return OnDays(rule, exclude=exclude, only=only)
