"""The next times of many jobs that share few rules.

A million jobs rarely have a million rules: most are due at the same handful of times. The next time
is computed once for each distinct rule, and looked up for all others.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from foliot.schedules.schedule import Schedule


def next_after_all(rules: Iterable[Schedule], instant: datetime) -> list[datetime | None]:
    """For each rule, in order, its first occurrence strictly after the instant."""
    known = _Known(instant)
    return [known[rule] for rule in rules]


class _Known(dict[Schedule, datetime | None]):
    """What is known of each rule; asks the rule when it is met for the first time."""

    def __init__(self, instant: datetime) -> None:
        super().__init__()
        self.instant = instant

    def __missing__(self, rule: Schedule) -> datetime | None:
        self[rule] = found = rule.next_after(self.instant)
        return found
