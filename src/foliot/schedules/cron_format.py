"""From the meaning of a cron expression back to its simplest spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.schedules.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Field, values
from foliot.schedules.nth_day import counted_words

if TYPE_CHECKING:
    from foliot.schedules.cron_syntax import CronFields

_SHORTEST_RUN = 3


def format_cron(fields: CronFields, *, has_steps: bool = True) -> str:
    """An expression that means exactly this, in canonical form."""
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
        words.append(format_mask(field, mask, has_star=not is_restricted, has_steps=has_steps))
    return " ".join(words)


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
