"""Days that are counted within their month: `L` the last day, `5L` the last Friday, `1#2` the second Monday.

Only the dialect `seconds` has them. They are bits of the two day masks, beyond the numbers of the field:

    day      32              the last day of the month
    weekday  8 + weekday     the last such weekday of the month
             16 + 7 × (n - 1) + weekday      the n-th one, n from 1 to 5
"""

from __future__ import annotations

import re

from foliot.errors import FieldParseError, shorten
from foliot.schedules.field import DAY, WEEKDAY, Field, values
from foliot.schedules.phrase import WEEKDAYS

LAST_DAY = 1 << 32
_LAST, _NTH = 8, 16
_WEEK = 7
_COUNTED = re.compile(r"([0-7]|[A-Z]{3})(?:(L)|#([1-5]))", re.IGNORECASE)
_HINT = "L is the last day of the month, 5L the last Friday, 1#2 the second Monday"


def read_counted(field: Field, text: str, item: str, offset: int) -> int | None:
    """The bit of an item such as `L`, `5L` or `1#2`; None if it is none of these."""
    if field is DAY and item.upper() == "L":
        return LAST_DAY
    found = _COUNTED.fullmatch(item)
    if found and field is WEEKDAY:
        word, last, nth = found.groups()
        weekday = int(word) % _WEEK if word.isdigit() else field.named(word)
        if weekday is not None:
            return 1 << (_LAST + weekday if last else _NTH + _WEEK * (int(nth) - 1) + weekday)
    if found or "#" in item or item.upper() == "L":
        reason = f'"{shorten(item)}" is not understood here'
        raise FieldParseError(field.name, text, reason, offset=offset, hint=_HINT)
    return None


def is_counted(days: int, weekdays: int, day: int, weekday: int, length: int) -> tuple[bool, bool]:
    """Whether a day of a month of that length is in either mask by its count."""
    is_last = day > length - _WEEK and weekdays >> _LAST + weekday & 1
    is_nth = weekdays >> _NTH + _WEEK * ((day - 1) // _WEEK) + weekday & 1
    return day == length and bool(days & LAST_DAY), bool(is_last or is_nth)


def counted_words(field: Field, mask: int) -> list[str]:
    """The items of a mask that are counted, as they are written."""
    if field is DAY:
        return ["L"] if mask & LAST_DAY else []
    if field is not WEEKDAY:
        return []
    words = [f"{bit}L" for bit in values(mask >> _LAST & WEEKDAY.full)]
    return words + [f"{bit % _WEEK}#{bit // _WEEK + 1}" for bit in values(mask >> _NTH)]


def say_counted(days: int, weekdays: int) -> list[str]:
    """The counted days of both masks, for people: "the last day", "the second Monday"."""
    said = ["the last day"] if days & LAST_DAY else []
    for word in counted_words(WEEKDAY, weekdays):
        name = WEEKDAYS[int(word[0])]
        said.append(f"the last {name}" if word[1] == "L" else f"the {_ORDINALS[int(word[2]) - 1]} {name}")
    return said


_ORDINALS = ("first", "second", "third", "fourth", "fifth")
