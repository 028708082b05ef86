"""What every schedule is: a stateless rule from an instant to the next occurrence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime, timedelta

from foliot.errors import InvalidScheduleError, NaiveInstantError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Schedule(ABC):
    """A rule that tells when something is to happen. A frozen value; equal rules are equal."""

    __slots__ = ()

    @abstractmethod
    def next_after(self, instant: datetime) -> datetime | None:
        """The first occurrence strictly after an instant, or None if there is none."""

    @abstractmethod
    def previous(self, instant: datetime) -> datetime | None:
        """The last occurrence at or before an instant, or None if there is none."""

    @abstractmethod
    def matches(self, instant: datetime) -> bool:
        """Whether an occurrence lies in the same minute (or second, if the rule counts seconds)."""

    def upcoming(self, after: datetime, count: int) -> list[datetime]:
        """The next `count` occurrences after an instant, or as many as there are."""
        found: list[datetime] = []
        following = self.next_after(after) if _checked_count(count) else None
        while following is not None and len(found) < count:
            found.append(following)
            following = self.next_after(following)
        return found

    def count(self, first: datetime, last: datetime) -> int:
        """How many occurrences lie between two instants, both included.

        This walks from one to the next; `Cron`, `Every` and `Once` compute it.
        """
        end, total = since_epoch(last), 0
        following = self.previous(first)
        if following is None or since_epoch(following) < since_epoch(first):
            following = self.next_after(first)
        while following is not None and since_epoch(following) <= end:
            total += 1
            following = self.next_after(following)
        return total


def _checked_count(count: object) -> int:
    if isinstance(count, int) and count >= 0:
        return count
    raise InvalidScheduleError("count", count, "must be a whole number, zero or more")


def check_aware(instant: object) -> None:
    """Refuse what names no instant."""
    if not isinstance(instant, datetime) or instant.utcoffset() is None:
        raise NaiveInstantError(instant)


def since_epoch(instant: datetime) -> timedelta:
    """How long after 1970 an instant is: exact where wall times come twice, and at the calendar's ends.

    Python compares two times of one zone by the wall, blind to the fold, and a conversion to UTC may
    leave the calendar; a difference to a time in another zone does neither.
    """
    check_aware(instant)
    return instant - EPOCH


def is_same_tick(occurrence: datetime, instant: datetime, tick: timedelta) -> bool:
    """Whether an instant lies in the minute or second that begins with an occurrence."""
    return timedelta(0) <= since_epoch(instant) - since_epoch(occurrence) < tick
