"""The six fields of a cron expression: their names, ranges and words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """One position of a cron expression; `words` name its values from `low` on."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()

    @property
    def full(self) -> int:
        """The mask of all its values."""
        return (1 << self.high + 1) - (1 << self.low)

    def named(self, word: str) -> int | None:
        """The value that a word stands for, in upper or lower case."""
        word = word.lower()
        return self.words.index(word) + self.low if word in self.words else None


MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

SECOND = Field("second", 0, 59)
MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY = Field("day", 1, 31)
MONTH = Field("month", 1, 12, MONTH_NAMES)
WEEKDAY = Field("weekday", 0, 6, WEEKDAY_NAMES)

FIELDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)


def values(mask: int) -> list[int]:
    """The numbers in a mask, in order."""
    return [n for n in range(mask.bit_length()) if mask >> n & 1]
