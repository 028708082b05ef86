"""Times as pages show them. A browser computes none of them: it has another zone, and another clock."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from foliot.api.problem import Fault, ProblemError
from foliot.model.attempt import format_instant
from foliot.model.job import EARLIEST, LATEST
from foliot.schedules.zone import load_zone
from foliot.shown import relative, span

_NEAR = timedelta(days=300)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_INSTANT = re.compile(r"(?<![\w@!/.:-])[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z(?![\w-])", re.ASCII)
_HINT = "such as 2026-11-15T07:00, in the zone of the job, or 2026-11-15T07:00Z"


class Times:
    """Instants in words, seen from one instant: the store's time when the page was made."""

    def __init__(self, now: datetime) -> None:
        self.now = now.astimezone(UTC)

    def ago(self, at: datetime | None) -> str:
        """`in 5 min`, `3 h ago`."""
        return relative(at, self.now)

    def due(self, at: datetime | None) -> str:
        """The same of something that is to run: what has come is due."""
        return "" if at is None else "due" if at <= self.now else relative(at, self.now)

    def iso(self, at: datetime) -> str:
        """For programs."""
        return format_instant(at.replace(microsecond=0))

    def wall(self, at: datetime, zone: str | None = None, *, seconds: bool = False) -> str:
        """The wall time of a zone: `Tue 17 Nov 07:00`; with the year if it is far away."""
        local = at.astimezone(load_zone(zone or "UTC"))
        # Without strftime: a page has hundreds of times, and this is a third of its cost.
        day = f"{_DAYS[local.weekday()]} {local.day} {_MONTHS[local.month - 1]}"
        day = day if self._is_near(at) else f"{day} {local.year}"
        time = f"{day} {local.hour:02}:{local.minute:02}"
        return f"{time}:{local.second:02}" if seconds else time

    def zoned(self, at: datetime, zone: str | None = None, *, seconds: bool = False) -> str:
        """The wall time with the short name that its zone has then: `Tue 17 Nov 07:00 CET`."""
        name = at.astimezone(load_zone(zone or "UTC")).tzname()
        return f"{self.wall(at, zone, seconds=seconds)} {name}"

    def both(self, at: datetime, zone: str | None = None) -> str:
        """The wall time of a zone, and UTC: what is told when a pointer rests on a time."""
        utc = f"{_plain(at.astimezone(UTC))} UTC"
        if zone in (None, "UTC"):
            return utc
        local = at.astimezone(load_zone(zone or "UTC"))
        return f"{_plain(local)} {local.tzname()} ({zone}) · {utc}"

    def told(self, text: str, zone: str | None = None) -> str:
        """A sentence with its instants as wall times of a zone. Those within keys of runs stay."""
        return _INSTANT.sub(lambda found: self._of(found[0], zone), text)

    def _of(self, text: str, zone: str | None) -> str:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:  # such as a 30th of February
            return text
        return self.zoned(at, zone, seconds=bool(at.second))

    def took(self, milliseconds: int | None) -> str:
        """How long something took."""
        return "" if milliseconds is None else span(timedelta(milliseconds=milliseconds))

    def between(self, first: datetime | None, last: datetime | None) -> str:
        """How long it is from one instant to another."""
        return "" if first is None or last is None else span(last - first)

    def _is_near(self, at: datetime) -> bool:
        return abs(at - self.now) < _NEAR


def _plain(local: datetime) -> str:
    return local.replace(tzinfo=None, microsecond=0).isoformat(" ")


def read_instant(text: str, zone: str | None, field: str) -> datetime | None:
    """An instant that a person typed: with an offset, or as a wall time of a zone. 422 if it is none."""
    if not text:
        return None
    try:
        given = datetime.fromisoformat(text.strip())
        at = given if given.tzinfo else given.replace(tzinfo=load_zone(zone or "UTC"))
        found = at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise _no_instant(field, f"{text[:60]!r} is no time") from None
    if not EARLIEST <= found <= LATEST:
        raise _no_instant(field, f"it must lie between {EARLIEST.date()} and {LATEST.date()}")
    return found


def _no_instant(field: str, detail: str) -> ProblemError:
    fault = Fault(pointer=f"/{field}", detail=detail, hint=_HINT)
    return ProblemError(422, "INVALID", detail, hint=_HINT, errors=[fault])
