"""What every schedule is: a stateless rule from an instant to the next occurrence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from foliot.errors import InvalidScheduleError, NaiveInstantError

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        if not isinstance(count, int) or count < 0:
            raise InvalidScheduleError("count", count, "must be a whole number, zero or more")
        return list(islice(self._each_after(after), count))

    def _each_after(self, instant: datetime) -> Iterator[datetime]:
        following = self.next_after(instant)
        while following is not None:
            yield following
            following = self.next_after(following)


def check_aware(instant: datetime) -> None:
    """Refuse what names no instant."""
    if not isinstance(instant, datetime) or instant.utcoffset() is None:
        raise NaiveInstantError(instant)


def is_same_tick(occurrence: datetime, instant: datetime, tick: timedelta) -> bool:
    """Whether an instant lies in the minute or second that begins with an occurrence."""
    return timedelta(0) <= instant - occurrence < tick
