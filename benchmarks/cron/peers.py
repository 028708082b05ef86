"""The libraries that are compared, each in the fastest fair way to ask it.

An adapter parses a rule once and returns two functions, each of which answers in bulk so that no
wrapper is called, and charged to the library, once per instant. `next_times` takes aware datetimes in
the zone of the rule and gives aware datetimes; `run` gives a number of occurrences in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from itertools import islice

from apscheduler.triggers.cron import CronTrigger
from celery import Celery
from celery.schedules import crontab
from croniter import croniter as python_croniter
from croniter_rs import croniter as rust_croniter
from cronsim import CronSim

from benchmarks.cron.sample import FIRST, load_zone
from foliot.schedules import Cron

_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@dataclass(frozen=True, slots=True)
class Asked:
    """A rule that one library has parsed."""

    next_times: Callable[[Sequence[datetime]], Sequence[datetime | None]]
    run: Callable[[datetime, int], Sequence[datetime | None]]


@dataclass(frozen=True, slots=True)
class NotComparable:
    """The library cannot say what the rule means."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """One library, and how it is asked."""

    name: str
    distribution: str
    use: str
    ask: Callable[[str, str], Asked | NotComparable]

    @property
    def version(self) -> str:
        """The installed version."""
        return version(self.distribution)


def _ask_foliot(expression: str, zone: str) -> Asked:
    rule = Cron(expression, timezone=zone)
    next_after = rule.next_after
    return Asked(lambda instants: [next_after(instant) for instant in instants], rule.upcoming)


def _ask_croniter_rs(expression: str, zone: str) -> Asked:
    tz = load_zone(zone)
    rule = rust_croniter(expression, FIRST.astimezone(tz), ret_type=datetime)
    get_next = rule.get_next
    # It reads the wall time off an aware datetime and answers with a naive one. Of the ways to put
    # the zone back, `combine` costs 0.1 µs and `replace` 0.7 µs, a third of what it takes in all.
    combine = datetime.combine

    def next_times(instants: Sequence[datetime]) -> list[datetime]:
        return [combine(wall := get_next(None, instant), wall.time(), tz) for instant in instants]

    def run(start: datetime, count: int) -> list[datetime]:
        rule.set_current(start)
        return [combine(wall, wall.time(), tz) for wall in rule.get_next_n(count)]

    return Asked(next_times, run)


def _ask_croniter_rs_naive(expression: str, zone: str) -> Asked:
    rule = rust_croniter(expression, FIRST.astimezone(load_zone(zone)), ret_type=datetime)
    get_next = rule.get_next

    def run(start: datetime, count: int) -> list[datetime]:
        rule.set_current(start)
        return list(rule.get_next_n(count))

    return Asked(lambda instants: [get_next(None, instant) for instant in instants], run)


def _ask_celery(expression: str, zone: str) -> Asked | NotComparable:
    minute, hour, day, month, weekday = expression.split()
    if _limits_both_days(expression):
        return NotComparable("celery wants day of month AND weekday to match, cron one of them")
    tz = load_zone(zone)
    now = FIRST.astimezone(tz)
    app = Celery("benchmark", set_as_current=False)
    app.conf.timezone = zone
    # The time that it looks up is not needed for the answer, so it is handed one that costs nothing.
    rule = crontab(minute, hour, weekday, day, month, app=app, nowfun=lambda: now)
    remaining_delta = rule.remaining_delta

    def next_times(instants: Sequence[datetime]) -> list[datetime]:
        answers = []
        for instant in instants:
            last_run_at, delta, _ = remaining_delta(instant, tz)
            answers.append(last_run_at + delta)
        return answers

    return Asked(next_times, _chain(lambda instant: next_times((instant,))[0]))


def _ask_cronsim(expression: str, zone: str) -> Asked:
    # By its manual one builds a CronSim per start; setting what its constructor sets spares the parse.
    rule = CronSim(expression, FIRST.astimezone(load_zone(zone)))
    works_in = None if rule.fixup_tz else rule.dt.tzinfo

    def next_times(instants: Sequence[datetime]) -> list[datetime]:
        answers = []
        for instant in instants:
            rule.dt = instant.replace(microsecond=0, tzinfo=works_in)
            answers.append(next(rule))
        return answers

    def run(start: datetime, count: int) -> list[datetime]:
        rule.dt = start.replace(microsecond=0, tzinfo=works_in)
        return list(islice(rule, count))

    return Asked(next_times, run)


def _ask_apscheduler(expression: str, zone: str) -> Asked | NotComparable:
    if _limits_both_days(expression):
        return NotComparable("APScheduler wants day of month AND weekday to match, cron one of them")
    rule = CronTrigger.from_crontab(_with_weekday_names(expression), timezone=load_zone(zone))
    get_next_fire_time = rule.get_next_fire_time
    return Asked(
        lambda instants: [get_next_fire_time(None, instant) for instant in instants],
        _chain(lambda instant: get_next_fire_time(instant, instant)),
    )


def _ask_croniter(expression: str, zone: str) -> Asked:
    rule = python_croniter(expression, FIRST.astimezone(load_zone(zone)), ret_type=datetime)
    get_next = rule.get_next

    def run(start: datetime, count: int) -> list[datetime]:
        rule.set_current(start, force=True)
        return [get_next() for _ in range(count)]

    return Asked(lambda instants: [get_next(datetime, instant) for instant in instants], run)


def _chain(next_after: Callable[[datetime], datetime]) -> Callable[[datetime, int], list[datetime]]:
    """A run for a library that has no way of its own: each answer is the next question."""

    def run(start: datetime, count: int) -> list[datetime]:
        answers = []
        for _ in range(count):
            start = next_after(start)
            answers.append(start)
        return answers

    return run


def _limits_both_days(expression: str) -> bool:
    _, _, day, _, weekday = expression.split()
    return not day.startswith("*") and not weekday.startswith("*")


def _with_weekday_names(expression: str) -> str:
    """APScheduler counts weekdays from Monday, cron from Sunday; names mean the same to both."""
    *others, weekday = expression.split()
    named = "".join(_WEEKDAYS[int(sign)] if sign.isdigit() else sign for sign in weekday)
    return " ".join([*others, named])


OURS = Library(
    name="foliot", distribution="foliot", use="Cron.next_after; Cron.upcoming", ask=_ask_foliot
)  # fmt: skip
RIVAL = Library(
    name="croniter-rs",
    distribution="croniter-rs",
    use="one object, get_next(start_time=...), zone put back with datetime.combine; get_next_n",
    ask=_ask_croniter_rs,
)
NAIVE_RIVAL = Library(
    name="croniter-rs, naive",
    distribution="croniter-rs",
    use="the same, but the zone is lost: its answers name no instant",
    ask=_ask_croniter_rs_naive,
)
PEERS = (
    RIVAL,
    Library(
        name="celery",
        distribution="celery",
        use="crontab.remaining_delta, added to the start; chained",
        ask=_ask_celery,
    ),
    Library(
        name="cronsim",
        distribution="cronsim",
        use="one object, start set as its constructor does, then next(); iterator",
        ask=_ask_cronsim,
    ),
    Library(
        name="APScheduler",
        distribution="apscheduler",
        use="CronTrigger.get_next_fire_time(None, now); chained",
        ask=_ask_apscheduler,
    ),
    Library(
        name="croniter",
        distribution="croniter",
        use="one object, get_next(datetime, start_time); get_next in a row",
        ask=_ask_croniter,
    ),
)
LIBRARIES = (OURS, *PEERS, NAIVE_RIVAL)
