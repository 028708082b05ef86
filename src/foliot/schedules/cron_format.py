"""From the meaning of a cron expression back to its simplest spelling."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from foliot.schedules.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Field, values
from foliot.schedules.nth_day import counted_words

if TYPE_CHECKING:
    from foliot.schedules.cron_syntax import CronFields

_SHORTEST_RUN = 3
_AS_IT_COMES: Mapping[str, bool] = MappingProxyType({})


def format_cron(
    fields: CronFields, *, has_steps: bool = True, stars: Mapping[str, bool] = _AS_IT_COMES
) -> str:
    """An expression that means exactly this, in canonical form.

    `stars` says of a field, by its name, that it must begin with `*`, or must not: some rules look at that.
    """
    masks = [
        (MINUTE, fields.minutes),
        (HOUR, fields.hours),
        (DAY, fields.days),
        (MONTH, fields.months),
        (WEEKDAY, fields.weekdays),
    ]
    if fields.has_seconds:
        masks.insert(0, (SECOND, fields.seconds))
    words = []
    for field, mask in masks:
        # With both day fields restricted, `1-31` is not `*`: either may match, not both.
        is_restricted = fields.either_day and field in (DAY, WEEKDAY)
        is_starred = stars.get(field.name)
        word = format_mask(
            field,
            mask,
            has_star=not is_restricted and is_starred is not False,
            has_steps=has_steps and is_starred is not False,
        )
        words.append(_with_star(field, mask) if is_starred and word[0] != "*" else word)
    return " ".join(words)


def stars_of_days(fields: CronFields) -> dict[str, bool]:
    """Which day fields begin with `*`, for a dialect that reads the day rule off that (Vixie's)."""
    if fields.either_day:
        return {DAY.name: False, WEEKDAY.name: False}
    if fields.days == DAY.full or fields.weekdays == WEEKDAY.full:
        return {}
    return {(DAY if fields.days >> DAY.low & 1 else WEEKDAY).name: True}


def stars_of_clock(fields: CronFields, *, follows_the_clock: bool) -> dict[str, bool]:
    """Which of minute and hour begin with `*`, for a rule that looks at that when the clocks are moved."""
    if not follows_the_clock:
        return {MINUTE.name: False, HOUR.name: False}
    is_plain = fields.minutes == MINUTE.full or fields.hours == HOUR.full
    return {} if is_plain else {(MINUTE if fields.minutes & 1 else HOUR).name: True}


def _with_star(field: Field, mask: int) -> str:
    """A field that begins with `*` and means the same: a step beyond its end is its lowest value alone."""
    rest = mask & ~(1 << field.low)
    first = f"*/{field.high - field.low + 1}"
    return f"{first},{format_mask(field, rest, has_steps=False)}" if rest else first


def format_mask(field: Field, mask: int, *, has_star: bool = True, has_steps: bool = True) -> str:
    """One field: `*`, `*/5`, or a list of numbers and ranges."""
    counted = counted_words(field, mask)
    allowed = values(mask & field.full)
    if mask == field.full and has_star:
        return "*"
    if has_steps and not counted and len(allowed) >= _SHORTEST_RUN:
        step = allowed[1] - allowed[0]
        if step > 1 and allowed == list(range(field.low, field.high + 1, step)):
            return f"*/{step}"
    return ",".join(_runs(allowed) + counted)


def _runs(numbers: list[int]) -> list[str]:
    """Numbers as a list of ranges: 1, 2, 3, 7 → 1-3 and 7."""
    words: list[str] = []
    position = 0
    while position < len(numbers):
        end = position
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        if end - position + 1 >= _SHORTEST_RUN:
            words.append(f"{numbers[position]}-{numbers[end]}")
        else:
            words += map(str, numbers[position : end + 1])
        position = end + 1
    return words
