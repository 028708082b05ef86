"""`Cron`: a cron expression in a time zone, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from foliot.errors import CronCalculationError, NeverMatchesError
from foliot.schedules.around import Around, Dst, around_changes
from foliot.schedules.cron_count import count_cron
from foliot.schedules.cron_format import format_cron, format_mask, stars_of_clock, stars_of_days
from foliot.schedules.cron_syntax import CronFields, Dialect, parse_cron
from foliot.schedules.dial import Tables, has_a_date
from foliot.schedules.every import Every
from foliot.schedules.field import DAY, MONTH
from foliot.schedules.schedule import Schedule, is_same_tick
from foliot.schedules.search import nearest
from foliot.schedules.zone import load_zone, resolve_timezone

_NO_TIME = timedelta(0)
_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)
# A fixed time, because a rule reads no clock; no program that refuses such rules is older.
_SINCE = datetime(2026, 1, 1, tzinfo=UTC)
_OTHER_TIME = 'choose another time of the day, or dst="once", which runs it right after the gap'


@dataclass(frozen=True, slots=True)
class Cron(Schedule):
    """A rule such as `Cron("*/5 9-17 * * MON-FRI", timezone="Europe/Berlin")`.

    `expression` is kept as written, but for `CRON_TZ=local`. `timezone` is an IANA name, or "local" for
    the host's zone, which is resolved to its name at once; a `CRON_TZ=` prefix wins over it. `dst` says
    what happens when the clocks are moved (`around`).
    `fields` holds what the expression means; for `@every` it is None, and `every` is the duration.

    A rule that can never match is refused. That the clocks leave out each of its times depends on the zones
    of the host, which change; so a rule that was accepted once is read again by `Cron.stored`.
    """

    expression: str
    timezone: str = field(default="UTC", kw_only=True)
    dialect: Dialect = field(default="standard", kw_only=True)
    dst: Dst = field(default="exact", kw_only=True)
    fields: CronFields | None = field(init=False, repr=False, compare=False)
    every: timedelta | None = field(init=False, repr=False, compare=False)
    around: Around | None = field(init=False, repr=False, compare=False)
    _grid: Every | None = field(init=False, repr=False, compare=False)  # of `@every`; else the tables:
    _up: Tables = field(init=False, repr=False, compare=False)
    _down: Tables = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._fill()
        if self.fields is not None and self.next_after(_SINCE) is None:
            raise _never_matches(self.expression, self.fields, self.timezone)

    @classmethod
    def stored(cls, expression: str, timezone: str, dialect: Dialect, dst: Dst = "exact") -> Cron:
        """A rule that was declared before, even if by the zones of this host it never comes again."""
        rule = object.__new__(cls)
        given = (("expression", expression), ("timezone", timezone), ("dialect", dialect), ("dst", dst))
        for name, value in given:
            object.__setattr__(rule, name, value)
        rule._fill()
        return rule

    def _fill(self) -> None:
        parsed = parse_cron(self.expression, self.dialect)
        timezone = resolve_timezone(self.timezone)
        set_once = object.__setattr__  # the way to fill a frozen value
        if parsed.timezone is not None:
            timezone = resolve_timezone(parsed.timezone)
            if parsed.timezone == "local":  # another host must read what this one meant
                set_once(self, "expression", self.expression.replace("=local", f"={timezone}", 1))
        set_once(self, "timezone", timezone)
        set_once(self, "fields", parsed.fields)
        set_once(self, "every", parsed.every)
        set_once(self, "around", around_changes(self.dst, follows_the_clock=parsed.follows_the_clock))
        set_once(self, "_hash", hash((self.expression, timezone, self.dialect, self.dst)))
        if parsed.fields is None:
            set_once(self, "_grid", Every(parsed.every or _NO_TIME, timezone=timezone))
            return
        up, down = _compile(parsed.expression, parsed.fields, timezone, self.around)
        set_once(self, "_grid", None)
        set_once(self, "_up", up)
        set_once(self, "_down", down)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.expression

    def __reduce__(self) -> tuple[object, ...]:
        return Cron.stored, (self.expression, self.timezone, self.dialect, self.dst)

    @property
    def canonical(self) -> str:
        """The expression in its simplest spelling: each field as `*`, `*/n`, or a list of ranges."""
        if self.fields is None:
            return str(self._grid)
        stars = stars_of_days(self.fields) if self.dialect == "vixie" else {}
        if self.dst == "cron":
            stars |= stars_of_clock(self.fields, follows_the_clock=self.around is None)
        return format_cron(self.fields, has_steps=self.dialect != "posix", stars=stars)

    def next_after(self, instant: datetime) -> datetime | None:
        if self._grid is not None:
            return self._grid.next_after(instant)
        return nearest(self._up, instant)

    def previous(self, instant: datetime) -> datetime | None:
        if self._grid is not None:
            return self._grid.previous(instant)
        return nearest(self._down, instant)

    def count(self, first: datetime, last: datetime) -> int:
        return self._grid.count(first, last) if self._grid is not None else count_cron(self._up, first, last)

    def matches(self, instant: datetime) -> bool:
        latest = self.previous(instant)
        counts_seconds = self.fields is None or self.fields.has_seconds
        return latest is not None and is_same_tick(latest, instant, _SECOND if counts_seconds else _MINUTE)


@lru_cache(maxsize=1024)
def _compile(
    expression: str, fields: CronFields, timezone: str, around: Around | None
) -> tuple[Tables, Tables]:
    """What a rule searches with, forward and backward. Equal rules share it."""
    if not has_a_date(fields):
        raise _never_matches(expression, fields)
    zone = load_zone(timezone)
    return Tables(fields, zone, 1, around), Tables(fields, zone, -1, around)


def _never_matches(expression: str, fields: CronFields, timezone: str | None = None) -> CronCalculationError:
    days, months = format_mask(DAY, fields.days), format_mask(MONTH, fields.months)
    cause = NeverMatchesError(days, months, timezone=timezone)
    hint = "name a date that some year has" if timezone is None else _OTHER_TIME
    error = CronCalculationError(expression, cause, hint=hint)
    error.__cause__ = cause
    return error
