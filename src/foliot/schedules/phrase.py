"""English for numbers, lists, times, dates and zones: the words that `explain` and `lint` share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

FEW = 7
SHORTEST_RUN = 3
_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_LONGEST_COUNT = 99
_TEENS = range(11, 14)
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
_UTC_NAMES = frozenset({"UTC", "UCT", "Universal", "Zulu"})


def listed(words: Sequence[str], joint: str = "and") -> str:
    """Words as one says them in a row: "a, b and c"."""
    *others, last = words
    return f"{', '.join(others)} {joint} {last}" if others else last


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th."""
    suffix = "th" if number % 100 in _TEENS else _SUFFIXES.get(number % 10, "th")
    return f"{number}{suffix}"


def counted(number: int, unit: str) -> str:
    """A number of something: "1 minute", "5 minutes"."""
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def step_of(numbers: Sequence[int]) -> int | None:
    """The distance between neighbours, if it is the same everywhere."""
    steps = {after - before for before, after in pairwise(numbers)}
    return steps.pop() if len(steps) == 1 else None


def is_run(numbers: Sequence[int]) -> bool:
    """Whether numbers follow one another closely enough, and long enough, to be said as a range."""
    return len(numbers) >= SHORTEST_RUN and step_of(numbers) == 1


def runs(numbers: Sequence[int]) -> list[list[int]]:
    """Numbers in stretches without holes: 1, 2, 3, 7 → 1, 2, 3 and 7."""
    found = [[numbers[0]]]
    for before, after in pairwise(numbers):
        if after == before + 1:
            found[-1].append(after)
        else:
            found.append([after])
    return found


def spelled(names: dict[int, str]) -> str:
    """Named numbers: all of them if they are few, otherwise with ranges ("0 to 3, 8 to 18 and 22")."""
    if len(names) <= FEW:
        return listed(list(names.values()))
    words: list[str] = []
    for run in runs(list(names)):
        if is_run(run):
            words.append(f"{names[run[0]]} to {names[run[-1]]}")
        else:
            words += [names[number] for number in run]
    return listed(words)


def in_units(seconds: int) -> str:
    """A duration in the largest unit that divides it: "90 seconds"; in several where that gets long."""
    unit, size = next((unit, size) for unit, size in _UNITS.items() if seconds % size == 0)
    if seconds // size <= _LONGEST_COUNT:
        return counted(seconds // size, unit)
    words = []
    for name, length in _UNITS.items():
        count, seconds = divmod(seconds, length)
        if count:
            words.append(counted(count, name))
    return listed(words)


def each(seconds: int) -> str:
    """How often something comes: "every minute", "every 5 minutes"."""
    words = in_units(seconds)
    return f"every {words.removeprefix('1 ')}" if words.count(" ") == 1 else f"every {words}"


def say_time(of_day: time) -> str:
    """A time of day, as exact as it needs to be: 09:00, 09:00:30."""
    return of_day.isoformat().removesuffix(":00")


def say_date(day: date) -> str:
    """A date: 24 December 2026."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


# In these, the last part of a name is a direction or a province, not a city: Canada/Central, Brazil/West.
_OLD_AREAS = frozenset({"Brazil", "Canada", "Chile", "Mexico", "US"})


def place(zone: str) -> str:
    """Where a zone's clocks hang: the city in its name; the whole name if it is of the old kind."""
    area, _, city = zone.rpartition("/")
    is_city = area.partition("/")[0] not in _OLD_AREAS
    return (city if is_city else zone).replace("_", " ").replace("/", " ")


def say_zone(at: datetime) -> str:
    """The zone of an instant as one says it: "Berlin time", "UTC", or the offset if it has no name."""
    key = at.tzinfo.key if isinstance(at.tzinfo, ZoneInfo) else None
    name = place(key) if key else ""
    if name in _UTC_NAMES:
        return "UTC"
    # Etc/GMT+3 lies three hours *behind* UTC, as POSIX counts: nobody should read that aloud.
    if not key or key.startswith("Etc/"):
        return say_offset(at.utcoffset() or timedelta(0))
    return name if name.isupper() else f"{name} time"


def say_offset(offset: timedelta) -> str:
    """UTC+01:00, or just UTC."""
    if not offset:
        return "UTC"
    sign = "-" if offset < timedelta(0) else "+"
    hours, rest = divmod(abs(offset), timedelta(hours=1))
    minutes, rest = divmod(rest, timedelta(minutes=1))
    return f"UTC{sign}{hours:02}:{minutes:02}" + (f":{rest.total_seconds():02g}" if rest else "")
