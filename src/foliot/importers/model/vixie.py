"""A model of cron: Debian's cron, cronie, and BusyBox's crond.

Vixie's cron wakes each minute and compares the minute on the wall with the one that it has served last:

    one more                 the usual case: everything that matches
    2 to 5 more              late: everything that matches any of them
    6 to 180 more            the clocks went forward: what follows the clock (its minute or hour begins with
                             `*`) by the minute on the wall; all else for each minute left out, at once
    0 to 179 fewer           the clocks went back: only what follows the clock, until the wall has caught up
    more, either way         the clock was set: begin anew

Its day rule looks at the first character of a field: if a day field begins with `*`, both must match, else
either. BusyBox walks by the real time, so it leaves a gap out and runs twice in autumn; its day rule asks
whether a field allows all days. Debian's cron takes a range that runs backward and never runs it; cronie
refuses it, but knows `fri-sun`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Literal, NamedTuple

from foliot.importers.model.numbers import SLOTS, Slot, UnreadableError, modulo_week, number_of, step_of
from foliot.importers.model.wall import DAY, Stretch, day_of, days_between, stretches

Flavour = Literal["debian", "cronie", "busybox"]
_MINUTE = 60
_LATE, _JUMP = 5, 180  # minutes
_EVERY_DAY, _EVERY_WEEKDAY = 31, 7


class VixieRule(NamedTuple):
    """The numbers of a line. `follows`: minute or hour begin with `*`."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    follows: bool
    flavour: Flavour = "debian"

    def is_on(self, day: date) -> bool:
        """Whether the rule allows a date."""
        on_day, on_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        matches = (on_day or on_weekday) if self.either else (on_day and on_weekday)
        return matches and day.month in self.months

    def is_at(self, minute: int) -> bool:
        """Whether it matches a minute on the wall, counted since 1970."""
        hour, rest = divmod(minute % (DAY // _MINUTE), 60)
        return rest in self.minutes and hour in self.hours and self.is_on(day_of(minute * _MINUTE))


def read_rule(text: str, flavour: Flavour = "debian") -> VixieRule:
    """Five fields, as the program reads them; UnreadableError if it does not."""
    words = text.split()
    if len(words) != len(SLOTS):
        raise UnreadableError(f"there are {len(words)} fields, and cron wants five")
    minutes, hours, days, months, weekdays = (
        _numbers(slot, word, flavour) for slot, word in zip(SLOTS, words, strict=True)
    )
    if flavour == "busybox":
        either = len(days) < _EVERY_DAY and len(weekdays) < _EVERY_WEEKDAY
    else:
        either = not (words[2].startswith("*") or words[4].startswith("*"))
    follows = words[0].startswith("*") or words[1].startswith("*")
    return VixieRule(minutes, hours, days, months, weekdays, either, follows, flavour)


def _numbers(slot: Slot, text: str, flavour: Flavour) -> frozenset[int]:
    found: set[int] = set()
    for item in text.split(","):
        body, slash, step_text = item.partition("/")
        step = step_of(slot, step_text) if slash else 1
        start_text, dash, end_text = body.partition("-")
        if body == "*":
            start, end = slot.low, slot.high
        elif dash:
            start, end = number_of(slot, start_text), number_of(slot, end_text)
            if flavour == "cronie" and end_text.lower() == "sun":
                end = slot.high
        elif slash:
            raise UnreadableError(f"{item[:20]}: a step needs a range in front of it")
        else:
            start = end = number_of(slot, body)
        if start > end and flavour != "debian":
            raise UnreadableError(f"{item[:20]}: the range runs backward")
        found |= set(range(start, end + 1, step))
    return modulo_week(slot, found)


def fires(rule: VixieRule, zone: str, first: int, last: int) -> Iterator[int]:
    """When the daemon starts the line, in [first, last), as seconds since 1970. Doubles come twice."""
    for stretch in stretches(zone, first, last):
        begin = stretch.start
        if stretch.jump and rule.flavour != "busybox":
            begin = min(stretch.start + max(_MINUTE, -stretch.jump), stretch.end)
            yield from _after_a_change(rule, stretch, begin)
        yield from _evenly(rule, begin + stretch.offset, stretch.end + stretch.offset, stretch.offset)


def _evenly(rule: VixieRule, start: int, end: int, offset: int) -> Iterator[int]:
    """The matching minutes of [start, end) on the wall."""
    times = [hour * 3600 + minute * _MINUTE for hour in sorted(rule.hours) for minute in sorted(rule.minutes)]
    for midnight, day in days_between(start, end):
        if rule.is_on(day):
            whole = start <= midnight and midnight + DAY <= end
            yield from (midnight + time - offset for time in times if whole or start <= midnight + time < end)


def count(rule: VixieRule, zone: str, first: int, last: int) -> int:
    """How many fires lie in [first, last): days of 24 hours are not walked."""
    found = list(stretches(zone, first, last))
    if len(found) > 1 or (first + found[0].offset) % DAY or last - first != DAY:
        return sum(1 for _ in fires(rule, zone, first, last))
    return len(rule.hours) * len(rule.minutes) * rule.is_on(day_of(first + found[0].offset))


def _after_a_change(rule: VixieRule, stretch: Stretch, until: int) -> Iterator[int]:
    """Minute by minute from a change of the clocks on, as the daemon goes through them."""
    served = (stretch.start - _MINUTE + stretch.before) // _MINUTE
    for now in range(stretch.start, until, _MINUTE):
        shown = (now + stretch.offset) // _MINUTE
        behind = shown - served
        if _LATE < behind <= _JUMP:
            missed = range(shown, shown + 1) if rule.follows else range(served + 1, shown + 1)
        elif 0 < behind <= _LATE:
            missed = range(served + 1, shown + 1)
        elif -_JUMP < behind <= 0:
            missed = range(shown, shown + 1) if rule.follows else range(0)
        else:
            missed = range(shown, shown + 1)
        yield from (now for minute in missed if rule.is_at(minute))
        if behind > 0 or behind <= -_JUMP:
            served = shown
