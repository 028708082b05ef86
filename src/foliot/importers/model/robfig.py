"""A model of robfig's cron, which Kubernetes uses: fields with `?` and `5/15`, either day, by the wall.

A time that the clocks leave out does not come, one that comes twice comes twice. A field counts as free if
`*` or `?` stands in it without a step of its own.
"""

from __future__ import annotations

from foliot.importers.model.numbers import SLOTS, Slot, UnreadableError, modulo_week, number_of, step_of
from foliot.importers.model.vixie import VixieRule, fires

_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def read_rule(text: str) -> VixieRule:
    """Five fields or a macro; UnreadableError if it is neither."""
    words = _MACROS.get(text.strip(), text).split()
    if len(words) != len(SLOTS):
        raise UnreadableError(f"there are {len(words)} fields, and Kubernetes wants five")
    read = [_numbers(slot, word) for slot, word in zip(SLOTS, words, strict=True)]
    minutes, hours, days, months, weekdays = (numbers for numbers, _ in read)
    either = not (read[2][1] or read[4][1])
    # By real minutes, as BusyBox goes.
    return VixieRule(minutes, hours, days, months, weekdays, either, follows=True, flavour="busybox")


def _numbers(slot: Slot, text: str) -> tuple[frozenset[int], bool]:
    high = 6 if slot.name == "weekday" else slot.high
    found: set[int] = set()
    is_free = False
    for item in text.split(","):
        body, slash, step_text = item.partition("/")
        step = step_of(slot, step_text) if slash else 1
        start_text, dash, end_text = body.partition("-")
        if body in ("*", "?"):
            start, end = slot.low, high
            is_free |= step == 1
        else:
            start = number_of(slot, start_text)
            end = number_of(slot, end_text) if dash else high if slash else start
        if max(start, end) > high or start > end:
            raise UnreadableError(f"{item[:20]} is out of range for a {slot.name}, or runs backward")
        found |= set(range(start, end + 1, step))
    return modulo_week(slot, found), is_free


__all__ = ["fires", "read_rule"]
