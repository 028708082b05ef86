"""`Every`: a steady beat, as a grid that every node computes alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from foliot.errors import InvalidDurationError
from foliot.schedules.duration import format_duration, parse_duration
from foliot.schedules.schedule import EPOCH, Schedule, is_same_tick, since_epoch
from foliot.schedules.zone import calendar_of, load_zone, resolve_timezone

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Every(Schedule):
    """Each multiple of a duration since 1970-01-01 UTC: `Every("5m")`, `Every(timedelta(hours=6))`.

    The grid does not depend on when a program was started, so all nodes agree on it, and no change
    of the clocks disturbs it. `timezone` is only how its occurrences are shown.
    """

    duration: timedelta
    timezone: str = field(default="UTC", kw_only=True)

    def __init__(self, duration: timedelta | str, *, timezone: str = "UTC") -> None:
        checked = parse_duration(duration) if isinstance(duration, str) else duration
        object.__setattr__(self, "duration", whole_seconds(checked, duration))
        object.__setattr__(self, "timezone", resolve_timezone(timezone))

    def __str__(self) -> str:
        return f"@every {format_duration(self.duration)}"

    def next_after(self, instant: datetime) -> datetime | None:
        return self._at(self._beats(instant) + 1)

    def previous(self, instant: datetime) -> datetime | None:
        return self._at(self._beats(instant))

    def count(self, first: datetime, last: datetime) -> int:
        earliest, latest = calendar_of(load_zone(self.timezone))  # beyond it nothing can be shown
        low, high = max(since_epoch(first), earliest), min(since_epoch(last), latest)
        return max(0, high // self.duration + -low // self.duration + 1)

    def matches(self, instant: datetime) -> bool:
        latest = self.previous(instant)
        return latest is not None and is_same_tick(latest, instant, _SECOND)

    def _beats(self, instant: datetime) -> int:
        return since_epoch(instant) // self.duration

    def _at(self, beat: int) -> datetime | None:
        try:
            return (EPOCH + beat * self.duration).astimezone(load_zone(self.timezone))
        except OverflowError:
            return None


def whole_seconds(duration: object, given: object) -> timedelta:
    """A duration that a grid can have."""
    if not isinstance(duration, timedelta):
        raise InvalidDurationError(given, "must be a timedelta or a text", hint='write "30s" or "5m"')
    if duration < _SECOND or duration.microseconds:
        raise InvalidDurationError(
            given, "must be a whole number of seconds, at least one", hint='write "1s", "30s" or "5m"'
        )
    return duration
