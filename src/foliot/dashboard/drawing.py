"""Drawings as numbers: templates write them as SVG. Nothing here knows HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from math import ceil, floor, log10
from typing import NamedTuple
from zoneinfo import ZoneInfo

from foliot.api.answers import OccurrenceAnswer, RunAnswer
from foliot.dashboard.axis import Band, Tick, bands_of, ticks_of
from foliot.dashboard.times import Times
from foliot.dashboard.words import tone_of, word_of
from foliot.model.attempt import Attempt
from foliot.schedules import Schedule

BAR, BARS, HIGH = 5, 20, 16
WIDE = 960  # of a timeline
_DOT_WIDE, _DOT_HIGH, _DOT_LEFT, _DOT_EDGE = 480, 96, 54, 10
_WEEKS, _WEEK, _CELL = 53, 7, 18
_PLANNED = ("planned", "waits")
_LOWEST = {"good": 5, "rest": 9}  # where the bar of a tone begins: a shape, beside its colour


class Bar(NamedTuple):
    """One path for all bars of a tone."""

    tone: str
    path: str


def bars(words: Sequence[str | None]) -> list[Bar]:
    """The last outcomes, the newest first, as bars from the right; bad ones are high, good ones are lower."""
    return _bars(tuple(words))


@lru_cache(maxsize=1024)  # most jobs of a list have the same outcomes: all good
def _bars(words: tuple[str | None, ...]) -> list[Bar]:
    paths: dict[str, list[str]] = {}
    for place, word in enumerate(words[:BARS]):
        tone = tone_of(word)
        top = _LOWEST.get(tone, 0)
        x = (BARS - 1 - place) * BAR
        paths.setdefault(tone, []).append(f"M{x} {top}h{BAR - 1}v{HIGH - top}h-{BAR - 1}z")
    return [Bar(tone, "".join(parts)) for tone, parts in sorted(paths.items())]


def meter(part: float, wide: int = 60) -> int:
    """The length of a bar, in units of the drawing."""
    return round(max(0.0, min(1.0, part)) * wide)


# -- runs of a job ---------------------------------------------------------------------------------


class Dot(NamedTuple):
    """A run: how long it took, or how late it was."""

    x: float
    y: float
    tone: str
    run: RunAnswer
    value: str


class Dots(NamedTuple):
    """A drawing of runs, the oldest first. `lines`: one for each power of ten, with its `y` in `x`."""

    dots: list[Dot]
    lines: list[Tick]
    wide: int = _DOT_WIDE
    high: int = _DOT_HIGH


def dots(runs: Sequence[RunAnswer], what: str) -> Dots | None:
    """Durations (`took`) or lateness (`late`) of runs, on a scale of powers of ten; None: there are none."""
    found = [(run, value) for run in reversed(runs) if (value := _value(run, what)) is not None]
    if not found:
        return None
    values = [max(value, 0.011) for _, value in found]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    scale = (_DOT_HIGH - 2 * _DOT_EDGE) / max(high - low, 1)
    step = (_DOT_WIDE - _DOT_LEFT) / len(found)

    def place(power: float) -> float:
        return round(_DOT_HIGH - _DOT_EDGE - (power - low) * scale, 1)

    marks = [
        Dot(
            round(_DOT_LEFT + (number + 0.5) * step, 1),
            place(log10(value)),
            tone_of(run.outcome or run.status),
            run,
            _seconds(value),
        )
        for number, ((run, _), value) in enumerate(zip(found, values, strict=True))
    ]
    return Dots(marks, [Tick(place(power), _round(power)) for power in range(low, max(high, low + 1) + 1)])


def _value(run: RunAnswer, what: str) -> float | None:
    if what == "took":
        return None if run.duration_ms is None else run.duration_ms / 1000
    if run.started_at is None or run.number > 1:
        return None
    return max(0.0, (run.started_at - run.scheduled_for).total_seconds())


def _round(power: int) -> str:
    """A power of ten as a time: `10 ms`, `100 s`."""
    return f"{10 ** (power + 3)} ms" if power < 0 else f"{10**power:,} s"


def _seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


# -- the timeline of a job -------------------------------------------------------------------------


class Mark(NamedTuple):
    """An occurrence on the timeline: its path, its instant for programs, its name, and all that is told."""

    shape: str
    tone: str
    at: str
    name: str
    text: str


class Timeline(NamedTuple):
    """What became of the occurrences of a time, and what is planned."""

    first: datetime
    last: datetime
    now: float
    marks: list[Mark]
    ticks: list[Tick]
    bands: list[Band]
    zone: str
    wide: int = WIDE


def timeline(
    lines: Iterable[OccurrenceAnswer], first: datetime, last: datetime, now: datetime, zone: ZoneInfo
) -> Timeline:
    """The drawing of a part of a ledger."""
    length = (last - first).total_seconds()

    def place(at: datetime) -> float:
        return round((at - first).total_seconds() / length * WIDE, 1)

    times = Times(now)
    marks = [_mark(line, place(line.at), times, zone.key) for line in lines if first <= line.at <= last]
    found = (Tick(place(at), text) for at, text in ticks_of(first, last, zone))
    return Timeline(
        first, last, place(now), marks, list(found), list(bands_of(first, last, zone, place)), zone.key
    )


def _mark(line: OccurrenceAnswer, x: float, times: Times, zone: str) -> Mark:
    """A mark with its words. A page has hundreds of them, so no template puts them together."""
    name = f"{times.zoned(line.at, zone)}: {word_of(line.verdict)}"
    ended = f", {word_of(line.outcome)}" if line.outcome else ""
    tone = mark_tone(line)
    shape = _shape(line.verdict, tone, x)
    look = "plan" if line.verdict in _PLANNED else "miss" if line.verdict == "missed" else tone
    return Mark(shape, look, times.iso(line.at), name, f"{name}{ended}. {line.reason}")


def _shape(verdict: str, tone: str, x: float) -> str:
    """A path: a bar for a run, high if it failed; a disc for a plan, a cross for a miss."""
    if verdict in ("ran", "runs"):
        return f"M{x - 3:.1f} 14h6v32h-6z" if tone == "bad" else f"M{x - 3:.1f} 22h6v24h-6z"
    if verdict in _PLANNED:
        return f"M{x - 3.5:.1f} 40a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z"
    if verdict == "missed":
        return f"M{x - 4:.1f} 36l8 8m0 -8l-8 8"
    if verdict == "covered":
        return f"M{x - 3:.1f} 38h6v8h-6z"
    return f"M{x:.1f} 34l5 6l-5 6l-5 -6z"


def mark_tone(line: OccurrenceAnswer) -> str:
    """The tone of an occurrence: that of its run, if it ran."""
    return tone_of(line.outcome if line.verdict == "ran" and line.outcome else line.verdict)


# -- a year of days --------------------------------------------------------------------------------


class DayMark(NamedTuple):
    """A day of a year: the worst of what ran in it, or how much is planned.

    `month`: the name above its week, if a month begins in that.
    """

    x: int
    y: int
    day: date
    tone: str
    text: str
    month: str = ""
    is_today: bool = False


def days_of_year(attempts: Iterable[Attempt], rule: Schedule, now: datetime, zone: ZoneInfo) -> list[DayMark]:
    """Half a year back and half a year ahead, a cell for each day, a column for each week."""
    worst: dict[date, list[str]] = {}
    for attempt in attempts:
        day = attempt.scheduled_for.astimezone(zone).date()
        worst.setdefault(day, []).append((attempt.outcome or attempt.state).value)
    today = now.astimezone(zone).date()
    first = today - timedelta(days=182 + today.weekday())
    return [_day(first + timedelta(days=n), n, worst, rule, today, zone) for n in range(_WEEKS * _WEEK)]


def _day(  # noqa: PLR0913, PLR0917 - a day, its place, and what is known of it
    day: date, number: int, worst: dict[date, list[str]], rule: Schedule, today: date, zone: ZoneInfo
) -> DayMark:
    found = worst.get(day, [])
    tones = [tone_of(word) for word in found]
    tone = next((one for one in ("bad", "busy", "rest", "good") if one in tones), "none")
    attempts = f"{len(found)} attempt{'' if len(found) == 1 else 's'}"
    text = attempts if found else "no attempt that is kept"
    if day >= today:
        begin = datetime.combine(day, time(), zone)
        planned = rule.count(begin, begin + timedelta(days=1) - timedelta(microseconds=1))
        text = f"{attempts}, {planned} planned" if found else f"{planned} planned"
        tone = tone if found else "wait" if planned else "none"
    week, weekday = divmod(number, _WEEK)
    sunday = day + timedelta(days=_WEEK - 1)
    month = f"{sunday:%b}" if weekday == 0 and sunday.day <= _WEEK else ""
    told = f"{day:%a} {day.day} {day:%b %Y}{', today' if day == today else ''}: {text}"
    return DayMark(week * _CELL, weekday * _CELL, day, tone, told, month, day == today)


# -- the week --------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """An hour of the week, or a minute of an hour. `level` is 0 to 5. `is_changed`: the clocks are moved."""

    at: datetime
    runs: int
    level: int
    is_changed: bool = False
    text: str = ""


LEVELS = 5


def levels(counts: Iterable[int]) -> list[int]:
    """Steps of a colour: 0 for none, then equal parts of the most. So nearly equal counts look the same.

    A count below five is not dark, though it may be the most.
    """
    given = list(counts)
    most = max((LEVELS, *given))
    return [-(-count * LEVELS // most) for count in given]
