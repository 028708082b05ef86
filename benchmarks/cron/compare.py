"""All libraries on one rule: whether they agree with us, and how long they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product

from benchmarks.cron.measure import Effort, Timing, Work, size_up, size_up_run, take_turns
from benchmarks.cron.peers import LIBRARIES, OURS, RIVAL, Asked, NotComparable
from benchmarks.cron.sample import (
    EXPRESSIONS,
    FIRST,
    ZONES,
    change_day_instants,
    load_zone,
    random_instants,
)

GOAL = 2.0
_END_OF_RUN = datetime(2099, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Wrong:
    """How many answers of a library name another instant than ours, and of how many."""

    sample: int
    sample_size: int
    change_days: int = 0
    change_days_size: int = 0

    def __bool__(self) -> bool:
        return self.sample + self.change_days > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One rule in one zone: what was seen of each library, by its name."""

    expression: str
    zone: str
    timings: dict[str, Timing]
    wrong: dict[str, Wrong]
    not_comparable: dict[str, str]

    def ratio(self, name: str) -> float:
        """How many times as long as ours a library takes."""
        return self.timings[name].median / self.timings[OURS.name].median

    @property
    def meets_goal(self) -> bool:
        """Whether we are at least twice as fast as the fastest peer."""
        return self.ratio(RIVAL.name) >= GOAL


def rules() -> Iterator[tuple[str, str]]:
    """The twelve rules: (expression, zone), zone by zone."""
    for zone, expression in product(ZONES, EXPRESSIONS):
        yield expression, zone


def compare_next_times(expression: str, zone: str, effort: Effort) -> Cell:
    """Goal P1: an aware datetime in, the next occurrence as an aware datetime out."""
    asked, not_comparable = _ask_all(expression, zone)
    instants, change_days = random_instants(zone, effort.instants), change_day_instants(zone)
    ours = asked[OURS.name].next_times
    expected, expected_on_change_days = ours(instants), ours(change_days)
    wrong = {
        name: Wrong(
            _count_wrong(expected, rule.next_times(instants)),
            len(instants),
            _count_wrong(expected_on_change_days, rule.next_times(change_days)),
            len(change_days),
        )
        for name, rule in asked.items()
    }
    works = {name: size_up(rule.next_times, instants, effort.sample_seconds) for name, rule in asked.items()}
    return Cell(
        expression=expression,
        zone=zone,
        timings=take_turns(works, effort.rounds),
        wrong=wrong,
        not_comparable=not_comparable,
    )


def compare_runs(expression: str, zone: str, effort: Effort) -> Cell:
    """Occurrences in a row, from 2020 on, each library in its own best way."""
    asked, not_comparable = _ask_all(expression, zone)
    start = FIRST.astimezone(load_zone(zone))
    expected = [
        answer for answer in asked[OURS.name].run(start, effort.run_length) if answer and answer < _END_OF_RUN
    ]
    length = len(expected)
    wrong = {
        name: Wrong(_count_wrong(expected, rule.run(start, length)), length) for name, rule in asked.items()
    }
    works = {name: _work_of_run(rule, start, length, effort) for name, rule in asked.items()}
    return Cell(
        expression=expression,
        zone=zone,
        timings=take_turns(works, effort.rounds),
        wrong=wrong,
        not_comparable=not_comparable,
    )


def _work_of_run(rule: Asked, start: datetime, length: int, effort: Effort) -> Work:
    return size_up_run(lambda: rule.run(start, length), length, effort.sample_seconds)


def _ask_all(expression: str, zone: str) -> tuple[dict[str, Asked], dict[str, str]]:
    """Each library's parsed rule, and why some have none."""
    asked: dict[str, Asked] = {}
    not_comparable: dict[str, str] = {}
    for library in LIBRARIES:
        match library.ask(expression, zone):
            case NotComparable(reason):
                not_comparable[library.name] = reason
            case Asked() as rule:
                asked[library.name] = rule
    return asked, not_comparable


def _count_wrong(expected: Sequence[datetime | None], answers: Sequence[datetime | None]) -> int:
    return sum(not _is_same_instant(ours, theirs) for ours, theirs in zip(expected, answers, strict=True))


def _is_same_instant(ours: datetime | None, theirs: datetime | None) -> bool:
    """Compared in UTC: two datetimes of one zone compare by wall time, which an hour shares with another."""
    if ours is None or theirs is None:
        return ours is theirs
    return theirs.tzinfo is not None and ours.astimezone(UTC) == theirs.astimezone(UTC)
