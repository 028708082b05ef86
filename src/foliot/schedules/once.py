"""`Once`: a single occurrence."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from foliot.errors import InvalidScheduleError
from foliot.schedules.schedule import Schedule, is_same_tick, since_epoch

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Once(Schedule):
    """One instant: `Once(datetime(2026, 12, 24, 18, tzinfo=ZoneInfo("Europe/Berlin")))`.

    A text in ISO 8601 with an offset will do as well: `Once("2026-12-24T18:00:00+01:00")`.
    """

    at: datetime = field(compare=False)
    _since_epoch: timedelta = field(init=False, repr=False)

    def __init__(self, at: datetime | str) -> None:
        if isinstance(at, str):
            at = _parse_instant(at)
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "_since_epoch", since_epoch(at))

    def __str__(self) -> str:
        return self.at.isoformat()

    def next_after(self, instant: datetime) -> datetime | None:
        return self.at if self._since_epoch > since_epoch(instant) else None

    def previous(self, instant: datetime) -> datetime | None:
        return self.at if self._since_epoch <= since_epoch(instant) else None

    def count(self, first: datetime, last: datetime) -> int:
        return int(since_epoch(first) <= self._since_epoch <= since_epoch(last))

    def matches(self, instant: datetime) -> bool:
        return is_same_tick(self.at.replace(microsecond=0), instant, _SECOND)


def _parse_instant(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidScheduleError(
            "at", text, "cannot be read", hint="write it as 2026-12-24T18:00:00+01:00"
        ) from error
