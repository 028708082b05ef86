"""The times of day of a cron rule, in words.

Three dials (hours, minutes, seconds) make the times; every combination of them occurs. In order of
preference they are said as a rhythm around the clock ("every 5 minutes"), as a list of times, as a
beat between two times ("every hour from 08:30 to 18:30"), or dial by dial ("at 3 and 17 minutes past
every hour from 8 to 18"), which always works and is always exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import time
from itertools import product
from typing import NamedTuple

from foliot.schedules.cron_syntax import CronFields
from foliot.schedules.field import values
from foliot.schedules.phrase import (
    FEW,
    counted,
    each,
    is_run,
    listed,
    ordinal,
    runs,
    say_time,
    spelled,
    step_of,
)

_MOST_WINDOWS = 3
_TWICE = 2
_A_MINUTE, _AN_HOUR = 60, 3_600


class ClockPhrase(NamedTuple):
    """Words for the times of a day; if `is_all_day`, "every day" goes without saying."""

    text: str
    is_all_day: bool


@dataclass(frozen=True, slots=True)
class _Dial:
    """The values that one hand of the clock may point to, out of `size`."""

    unit: str
    size: int
    values: list[int]

    @property
    def is_full(self) -> bool:
        return len(self.values) == self.size

    @property
    def comes_round(self) -> bool:
        """Whether the distance from the last value on to the first is that of all the others."""
        step = step_of(self.values)
        return step is not None and step * len(self.values) == self.size


@dataclass(frozen=True, slots=True)
class _Clock:
    hours: _Dial
    minutes: _Dial
    seconds: _Dial

    @property
    def count(self) -> int:
        return len(self.hours.values) * len(self.minutes.values) * len(self.seconds.values)

    @property
    def first(self) -> time:
        return time(self.hours.values[0], self.minutes.values[0], self.seconds.values[0])

    @property
    def last(self) -> time:
        return time(self.hours.values[-1], self.minutes.values[-1], self.seconds.values[-1])

    @property
    def times(self) -> list[time]:
        return [
            time(*hands) for hands in product(self.hours.values, self.minutes.values, self.seconds.values)
        ]


class _Beat(NamedTuple):
    """A constant number of seconds between the times; `is_endless` if it goes on over midnight."""

    step: int
    is_endless: bool


def say_clock(fields: CronFields) -> ClockPhrase:
    """When, on its days, a rule fires."""
    clock = _Clock(
        _Dial("hour", 24, values(fields.hours)),
        _Dial("minute", 60, values(fields.minutes)),
        _Dial("second", 60, values(fields.seconds)),
    )
    beat = _beat(clock)
    # "every 12 hours" would not tell more than the two times do.
    if beat and beat.is_endless and clock.first == time.min and clock.count > _TWICE:
        return ClockPhrase(each(beat.step), is_all_day=True)
    if clock.count <= FEW:
        return ClockPhrase(f"at {listed([_say(clock, at) for at in clock.times])}", is_all_day=False)
    is_one_dial = clock.minutes.is_full or clock.seconds.values == [0]
    windows = None if clock.hours.is_full and is_one_dial else _windows(clock)
    return ClockPhrase(windows or _dial_by_dial(clock), is_all_day=clock.hours.is_full and not windows)


def _say(clock: _Clock, of_day: time) -> str:
    """A time of day; all times of a rule are said with seconds, or all without."""
    return say_time(of_day) if clock.seconds.values == [0] else of_day.isoformat()


def _beat(clock: _Clock) -> _Beat | None:
    """The beat of a clock's times, if they come at equal distances from the first to the last."""
    step, comes_round = 0, False
    for dial, unit in ((clock.seconds, 1), (clock.minutes, _A_MINUTE), (clock.hours, _AN_HOUR)):
        distance = step_of(dial.values)
        if len(dial.values) == 1:
            comes_round = False
        elif distance is None or (step and not (comes_round and distance == 1)):
            # A faster hand keeps its beat only if it comes round, and this one does not jump.
            return None
        else:
            step, comes_round = step or distance * unit, dial.comes_round
    return _Beat(step, comes_round) if step else None


def _windows(clock: _Clock) -> str | None:
    """The same beat from one time to another, once or a few times a day; and what is left over."""
    hours, parts = clock.hours, [clock]
    if not _beat(clock):
        parts = [replace(clock, hours=replace(hours, values=run)) for run in runs(hours.values)]
        if len(parts) > _MOST_WINDOWS and clock.count > len(hours.values):
            return None
    windows = [part for part in parts if part.count > 1]
    moments = [_say(clock, part.first) for part in parts if part.count == 1]
    steps = {beat.step if (beat := _beat(part)) else 0 for part in windows}
    if len(steps) > 1 or 0 in steps:
        return None
    spans = [f"from {_say(clock, part.first)} to {_say(clock, part.last)}" for part in windows]
    words = [f"{each(step)} {listed(spans)}" for step in steps]
    if moments:
        words.append(f"at {listed(moments)}")
    return ", and ".join(words)


def _dial_by_dial(clock: _Clock) -> str:
    if clock.seconds.values == [0]:
        return f"{_within(clock.minutes)} {_which(clock.hours)}"
    text = f"{_within(clock.seconds)} {_which(clock.minutes)}"
    return text if clock.minutes.is_full and clock.hours.is_full else f"{text} of {_which(clock.hours)}"


def _within(dial: _Dial) -> str:
    """The values of a dial, seen from the slower one: "at 15 and 45 minutes past"."""
    numbers, unit = dial.values, dial.unit
    step, first, last = step_of(numbers), numbers[0], numbers[-1]
    unit_length = _A_MINUTE if unit == "minute" else 1
    if step and first == 0 and dial.comes_round:
        return f"{each(step * unit_length)} of"
    if len(numbers) == 1:
        return f"at {counted(first, unit)} past"
    if len(numbers) <= FEW or step is None:
        return f"at {spelled({number: str(number) for number in numbers})} {unit}s past"
    beat = each(step * unit_length)
    if step == 1 or last + step < dial.size:
        return f"{beat} from {first} to {last} {unit}s past"
    return f"{beat} from {counted(first, unit)} past" if first else f"{beat} from the start of"


def _which(dial: _Dial) -> str:
    """The values of a dial as a noun: "every hour", "every hour from 8 to 18", "the hours 9 and 17"."""
    numbers, unit = dial.values, dial.unit
    if dial.is_full:
        return f"every {unit}"
    if len(numbers) == 1:
        return f"{unit} {numbers[0]}"
    if is_run(numbers):
        return f"every {unit} from {numbers[0]} to {numbers[-1]}"
    step = step_of(numbers)
    if step and len(numbers) > FEW:
        return f"every {ordinal(step)} {unit} from {numbers[0]} to {numbers[-1]}"
    return f"the {unit}s {spelled({number: str(number) for number in numbers})}"
