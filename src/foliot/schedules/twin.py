"""Years that are alike, so that a search through the centuries looks at few of them.

A zone's clocks are moved as its records say, and after the last record by a rule such as "the last Sunday of
March". What such a rule does in a year depends on the weekday of its first day, and on whether it and the
years beside it are leap years. Of such years there are 28 kinds, and 28 years in a row have them all, if no
century breaks the row. So each year after the records has a twin in one such row; and what does not
happen in these 28 years never happens after them. The weekdays of the calendar repeat after 400 years.

No zone in the database has records outside RECORDED (a test watches this).
"""

from __future__ import annotations

from datetime import MAXYEAR, UTC, date, datetime

CYCLE = 400
RECORDED = range(1800, 2101)
ROW = range(2104, 2132)
ROW_END = datetime(ROW.stop, 1, 1, tzinfo=UTC)


def is_leap(year: int) -> bool:
    """Whether a year has a 29 February."""
    return year % 4 == 0 and (year % 100 != 0 or year % CYCLE == 0)


def _kind(year: int) -> tuple[int, bool, bool, bool]:
    return date(year, 1, 1).weekday(), is_leap(year - 1), is_leap(year), is_leap(year + 1)


_BY_KIND = {_kind(year): year for year in ROW}
_BY_PLACE = tuple(_BY_KIND[_kind(CYCLE + place)] for place in range(CYCLE))


def twin(year: int) -> int:
    """The year of the row whose days and clock changes are the same; before its end, the year itself.

    The last year of the calendar has none, because it is cut short: its last hours are not in every zone.
    """
    return year if year < ROW.stop or year == MAXYEAR else _BY_PLACE[year % CYCLE]
