"""`Cron`: a cron expression in a time zone, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from foliot.errors import CronCalculationError, NeverMatchesError
from foliot.schedules.cron_format import format_cron, format_mask
from foliot.schedules.cron_syntax import CronFields, Dialect, ParsedCron, parse_cron
from foliot.schedules.dial import Way, has_a_date
from foliot.schedules.duration import format_duration
from foliot.schedules.every import Every
from foliot.schedules.field import DAY, MONTH
from foliot.schedules.schedule import Schedule, is_same_tick
from foliot.schedules.search import nearest
from foliot.schedules.zone import load_zone, resolve_timezone

if TYPE_CHECKING:
    from datetime import datetime

_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Cron(Schedule):
    """A rule such as `Cron("*/5 9-17 * * MON-FRI", timezone="Europe/Berlin")`.

    `expression` is kept as written, but for `CRON_TZ=local`. `timezone` is an IANA name, or "local" for
    the host's zone, which is resolved to its name at once; a `CRON_TZ=` prefix goes before it.
    `fields` holds what the expression means; for `@every` it is None, and `every` is the duration.
    """

    expression: str
    timezone: str = field(default="UTC", kw_only=True)
    dialect: Dialect = field(default="standard", kw_only=True)
    fields: CronFields | None = field(init=False, repr=False, compare=False)
    every: timedelta | None = field(init=False, repr=False, compare=False)
    _grid: Every | None = field(init=False, repr=False, compare=False)
    _up: Way | None = field(init=False, repr=False, compare=False)
    _down: Way | None = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
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
        set_once(self, "_hash", hash((self.expression, timezone, self.dialect)))
        up, down, grid = _compile(parsed, timezone)
        set_once(self, "_up", up)
        set_once(self, "_down", down)
        set_once(self, "_grid", grid)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.expression

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.expression, self.timezone, self.dialect)

    @property
    def canonical(self) -> str:
        """The expression in its simplest spelling: each field as `*`, `*/n`, or a list of ranges."""
        if self.fields:
            return format_cron(self.fields, has_steps=self.dialect != "posix")
        return f"@every {format_duration(self.every)}" if self.every else self.expression

    def next_after(self, instant: datetime) -> datetime | None:
        if self._up is None:
            return self._grid.next_after(instant) if self._grid else None
        return nearest(self._up, instant)

    def previous(self, instant: datetime) -> datetime | None:
        if self._down is None:
            return self._grid.previous(instant) if self._grid else None
        return nearest(self._down, instant)

    def matches(self, instant: datetime) -> bool:
        latest = self.previous(instant)
        counts_seconds = self.fields is None or self.fields.has_seconds
        return latest is not None and is_same_tick(latest, instant, _SECOND if counts_seconds else _MINUTE)


@lru_cache(maxsize=8192)
def _compile(parsed: ParsedCron, timezone: str) -> tuple[Way | None, Way | None, Every | None]:
    """What a rule searches with: tables for both directions, or a grid. Equal rules share them."""
    fields, zone = parsed.fields, load_zone(timezone)
    if fields is None:
        return None, None, Every(parsed.every or "", timezone=timezone)
    if not has_a_date(fields):
        raise _never_matches(parsed.expression, fields)
    return Way(fields, zone, 1), Way(fields, zone, -1), None


def _never_matches(expression: str, fields: CronFields) -> CronCalculationError:
    cause = NeverMatchesError(format_mask(DAY, fields.days), format_mask(MONTH, fields.months))
    error = CronCalculationError(expression, cause, hint="name a date that some year has")
    error.__cause__ = cause
    return error


def _rebuild(expression: str, timezone: str, dialect: Dialect) -> Cron:
    return Cron(expression, timezone=timezone, dialect=dialect)
