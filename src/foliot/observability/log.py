"""The log of an engine: few lines, each a constant event name with fields.

A run that starts or succeeds leaves no line above DEBUG, unless its job has a title: the commands of a
repository have one, functions have none. Late starts, skips and declarations may come in thousands: they
are one line for each batch, and in a flood one line each half minute, with the sum. Each failure has a line,
up to a hundred in a second. The logger is `foliot`; the program configures it.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain
from textwrap import dedent
from typing import Any

from foliot.errors import StoreError
from foliot.model.attempt import Attempt, Outcome, Trigger, format_instant
from foliot.model.decision import Event, Happening
from foliot.model.events import HerdEnded, HerdStarted, parts_of
from foliot.model.view import NodeHealth, NodeView, StoreHealth
from foliot.observability.lines import LINES
from foliot.observability.throttle import Throttle

LATE = timedelta(seconds=10)
WRONG_CLOCK = timedelta(seconds=2)
SUMMED_UP_EVERY = timedelta(seconds=30)
MOST_FAILURES = 100  # in a second
_ON_TIME = timedelta(0)
# These are to start at scheduled_for.
PROMPT = frozenset({Trigger.SCHEDULE, Trigger.CATCH_UP, Trigger.MANUAL, Trigger.AFTER, Trigger.REBOOT})

_STARTED, _ENDED, _SKIPPED = Happening.STARTED, Happening.ENDED, Happening.SKIPPED
_WELL = frozenset({Outcome.SUCCEEDED, Outcome.CANCELLED})
_DEFINITIONS = (Happening.DECLARED, Happening.CHANGED, Happening.REMOVED)
_MOST_LINES = 10  # of one kind, in each stretch of time
_MOST_REASONS = 50
_MOST_DECLARED = 10_000
_OTHER_REASONS = "other reasons"
_ASIDE = {Happening.SET_ASIDE: "job_set_aside", Happening.PASSED_OVER: "job_not_understood"}
_CORRECTED = "the clock was set back by hours: jobs go on from now"
_BY_PEOPLE = {Happening.PAUSED: "job_paused", Happening.RESUMED: "job_resumed"}

_logger = logging.getLogger("foliot")


class Line:
    """A message for the log: as text `start_late job=app/x late=12.5`; a formatter may use its parts."""

    def __init__(self, event: str, fields: dict[str, Any]) -> None:
        self.event = event
        self.fields = {name: _plain(value) for name, value in fields.items() if value is not None}

    def __str__(self) -> str:
        return " ".join([self.event, *(f"{name}={quoted(value)}" for name, value in self.fields.items())])


def _plain(value: Any) -> Any:
    """A value for JSON: instants as text, durations in seconds."""
    if isinstance(value, timedelta):
        return round(value.total_seconds(), 3)
    return format_instant(value) if isinstance(value, datetime) else value


def quoted(value: object) -> str:
    """A value as one word, quoted if needed, so that no value can look like another field."""
    text = str(value)
    if text and text.isprintable() and not set(text) & set(' "='):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def tell(event: str, cause: BaseException | None = None, /, **fields: Any) -> None:
    """Write a line, if its level is enabled, with the traceback of its cause."""
    level = LINES[event]
    if _logger.isEnabledFor(level):
        _logger.log(level, Line(event, fields), exc_info=cause)


def tell_burial(dead: NodeView, by: str | None = None) -> None:
    """A node was declared dead: where it ran, when its lease expired, and how many attempts are lost."""
    node = dead.node
    tell(
        "node_declared_dead",
        node=node.id,
        name=node.name or None,
        host=node.host or None,
        process=node.process,
        lease_until=dead.until,
        attempts=dead.open_count,
        by=by,
    )


def _no_title(_: str) -> None:
    """No job has a title: jobs are logged by their keys, and only if something is wrong."""


def _tell_success(event: Event, attempt: Attempt, name: str) -> None:
    took = None
    if attempt.started_at is not None and attempt.finished_at is not None:
        took = attempt.finished_at - attempt.started_at
    line = "run_succeeded" if attempt.outcome is Outcome.SUCCEEDED else "run_cancelled"
    tell(line, name=name, run=event.run_key, took=took)


class LogListener:
    """Logs the events of jobs and the health of an engine."""

    def __init__(
        self, title: Callable[[str], str | None] = _no_title, *, tells_failures: bool = True
    ) -> None:
        self._title = title
        self._told_elsewhere = frozenset() if tells_failures else frozenset((Outcome.FAILED,))
        self._troubles = self._regressions = 0
        self._node = ""
        self._is_skewed = False
        self._late = _Late()
        self._skips: dict[str, _Skips] = {}
        self._changes = _Changes()
        self._corrected = _Skips(_CORRECTED, "clock_corrected", most=1)
        self._failures = Throttle(MOST_FAILURES, timedelta(seconds=1))
        self._untold = 0
        self._declared: dict[str, datetime] = {}  # new jobs, and when they were declared

    # -- what happens to jobs ----------------------------------------------------------------------

    def on_events(self, events: Sequence[Event]) -> None:
        late: list[tuple[Event, Attempt]] = []
        others: list[Event] = []
        for event in chain.from_iterable(part for part in parts_of(events) if not self._is_counted(part)):
            what, attempt = event.what, event.attempt
            if what is _STARTED and attempt is not None:
                self._tell_start(event, attempt, late)
            elif what is not _ENDED or attempt is None:
                others.append(event)
            elif attempt.outcome not in _WELL:
                self._tell_failure(event, attempt)
            elif name := self._title(event.job):
                _tell_success(event, attempt, name)
        self._late.add(late)
        self.note_declared(others)
        self._sort(others)
        if events:
            self._tell_sums(events[-1].at)
        if _logger.isEnabledFor(logging.DEBUG):
            for event in events:
                _tell_happening(event)

    def _is_counted(self, events: Sequence[Event]) -> bool:
        """Whether these events need no line each: a herd has started, or has succeeded."""
        if isinstance(events, HerdEnded):
            return not self._has_title(ending.job for ending in events.endings)
        if not isinstance(events, HerdStarted) or self._has_title(run.attempt.job for run in events.runs):
            return False
        is_late = events.at - events.scheduled_for >= LATE
        if is_late and self._declared:
            return False
        if is_late and events and (attempt := events[0].attempt) is not None:
            self._late.add([(events[0], attempt)], len(events))
        return True

    def _has_title(self, jobs: Iterable[str]) -> bool:
        return self._title is not _no_title and any(map(self._title, jobs))

    def note_declared(self, events: Sequence[Event]) -> None:
        """A new job may owe a run for a time before its declaration; lateness counts from the declaration."""
        for event in events:
            if event.what is Happening.DECLARED and len(self._declared) < _MOST_DECLARED:
                self._declared[event.job] = event.at

    def _tell_start(self, event: Event, attempt: Attempt, late: list[tuple[Event, Attempt]]) -> None:
        if name := self._title(event.job):
            run, number = event.run_key, event.number
            tell("run_started", name=name, run=run, attempt=number, trigger=attempt.trigger)
        if _lateness(event, attempt) < LATE or attempt.trigger not in PROMPT:
            return
        declared_at = self._declared.pop(event.job, None)
        if declared_at is None or attempt.scheduled_for >= declared_at or event.at - declared_at >= LATE:
            late.append((event, attempt))

    def _tell_failure(self, event: Event, attempt: Attempt) -> None:
        if attempt.outcome in self._told_elsewhere:
            return
        self._tell_untold(event.at)
        if not self._failures.lets_through(event.at):
            self._untold += 1
            return
        run, number, outcome = event.run_key, event.number, attempt.outcome
        said = event.reason.removeprefix(f"{outcome}: ")  # the error's first line, or its node's fate
        error = None if said == outcome else said
        name = self._title(event.job)
        stderr = attempt.error.partition("\n")[2] if name and attempt.error else None
        tell(
            "attempt_failed", name=name, run=run, attempt=number, outcome=outcome, error=error,
            stderr=dedent(stderr) if stderr else None,
        )  # fmt: skip

    def _tell_aside(self, event: Event) -> None:
        if self._failures.lets_through(event.at):
            tell(_ASIDE[event.what], job=event.job, reason=event.reason)
        else:
            self._untold += 1

    def _tell_untold(self, at: datetime) -> None:
        if self._untold and self._failures.is_over(at):
            tell("failures_suppressed", count=self._untold)
            self._untold = 0

    def _sort(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.what is _SKIPPED:
                known = event.reason in self._skips or len(self._skips) < _MOST_REASONS
                reason = event.reason if known else _OTHER_REASONS
                self._skips.setdefault(reason, _Skips(reason)).add(event.job)
            elif event.what in _DEFINITIONS:
                self._changes.counts[event.what] += 1
            elif event.what in _BY_PEOPLE:
                tell(_BY_PEOPLE[event.what], job=event.job)
            elif event.what in _ASIDE:
                self._tell_aside(event)
            elif event.what is Happening.CLOCK_SET_BACK:
                self._corrected.add(event.job)

    def _tell_sums(self, at: datetime) -> None:
        self._tell_untold(at)
        self._late.tell(at)
        self._changes.tell(at)
        self._corrected.tell(at)
        for skips in self._skips.values():
            skips.tell(at)

    # -- how the node fares ------------------------------------------------------------------------

    def on_trouble(self, error: StoreError) -> None:
        """Log the 1st, 2nd, 4th, 8th … trouble in a row, because calls are repeated again and again."""
        self._troubles += 1
        if self._troubles & (self._troubles - 1) == 0:
            tell("store_trouble", error=str(error), hint=error.hint, troubles=self._troubles)

    def on_turn(self, what: str, took: timedelta, held: int) -> None:
        pass

    def on_health(self, health: NodeHealth) -> None:
        if health.node != self._node:
            self._node = health.node
            tell("node_joined", node=health.node)
        if self._troubles:
            tell("store_recovered", troubles=self._troubles)
            self._troubles = 0
        if abs(health.jump) >= WRONG_CLOCK:
            tell("clock_jumped", by=health.jump, node=health.node)
        is_skewed = abs(health.skew) >= WRONG_CLOCK
        if is_skewed and not self._is_skewed:
            tell("clock_skewed", by=health.skew, node=health.node)
        self._is_skewed = is_skewed
        self._declared = {job: at for job, at in self._declared.items() if health.at - at < LATE}
        self._tell_sums(health.at)

    def on_store(self, health: StoreHealth) -> None:
        if health.regressions > self._regressions:
            tell("store_regressed", reason=health.last_regression, times=health.regressions)
        self._regressions = health.regressions

    def on_lease_lost(self, node: str) -> None:
        tell("lease_lost", node=node)

    def on_burial(self, node: str, dead: NodeView) -> None:
        tell_burial(dead, node)


class _Late:
    """Late starts: how many since the last line, and the latest of them."""

    def __init__(self) -> None:
        self._throttle = Throttle(1, SUMMED_UP_EVERY)
        self._count = 0
        self._worst: tuple[Event, Attempt] | None = None

    def add(self, late: Sequence[tuple[Event, Attempt]], count: int | None = None) -> None:
        """Late starts; or one of many that are equally late, and how many those are."""
        self._count += len(late) if count is None else count
        known = [self._worst] if self._worst else []
        self._worst = max([*known, *late], key=lambda start: _lateness(*start), default=None)

    def tell(self, at: datetime) -> None:
        if self._worst is None or not self._throttle.lets_through(at):
            return
        event, attempt = self._worst
        tell(
            "start_late",
            run=event.run_key,
            late=_lateness(event, attempt),
            trigger=attempt.trigger,
            reason=event.reason,
            others=self._count - 1 or None,
        )
        self._count, self._worst = 0, None


def _lateness(event: Event, attempt: Attempt) -> timedelta:
    return event.at - attempt.scheduled_for - (event.offset or _ON_TIME)


class _Skips:
    """Events of jobs with one reason since the last line: their number, and the first job."""

    def __init__(self, reason: str, line: str = "occurrences_skipped", most: int = _MOST_LINES) -> None:
        self._throttle = Throttle(most, SUMMED_UP_EVERY)
        self._reason = reason
        self._line = line
        self._count = 0
        self._first = ""

    def add(self, job: str) -> None:
        self._first = self._first or job
        self._count += 1

    def tell(self, at: datetime) -> None:
        if self._count and self._throttle.lets_through(at):
            others = self._count - 1 or None
            tell(self._line, job=self._first, reason=self._reason, others=others)
            self._count, self._first = 0, ""


class _Changes:
    """How many definitions came, changed or went since the last line."""

    def __init__(self) -> None:
        self._throttle = Throttle(_MOST_LINES, SUMMED_UP_EVERY)
        self.counts: Counter[Happening] = Counter()

    def tell(self, at: datetime) -> None:
        if self.counts and self._throttle.lets_through(at):
            tell("jobs_changed", **{what.value: self.counts[what] or None for what in _DEFINITIONS})
            self.counts.clear()


def _tell_happening(event: Event) -> None:
    what, job, at, reason, run, number, *_ = event
    tell("happened", what=what, job=job, at=at, reason=reason, run=run, attempt=number or None)
