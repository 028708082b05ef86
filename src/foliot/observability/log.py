"""What an engine tells the log: each line is a constant event name with fields, and there are few.

A run that goes well leaves no line above DEBUG, and what may come in thousands (late starts, skips,
declarations) is one line for each batch. The logger is `foliot`; who configures it is the program's choice.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from foliot.errors import StoreError
from foliot.model.attempt import Attempt, Outcome, Trigger, format_instant
from foliot.model.decision import Event, Happening
from foliot.protocols import Pulse

# Every line there is. The documentation and a test name them all.
LINES = {
    "happened": logging.DEBUG,
    "node_joined": logging.INFO,
    "jobs_changed": logging.INFO,
    "job_paused": logging.INFO,
    "job_resumed": logging.INFO,
    "occurrences_skipped": logging.INFO,
    "store_answers": logging.INFO,
    "stop_asked": logging.INFO,
    "end_asked": logging.INFO,
    "attempt_failed": logging.WARNING,
    "start_late": logging.WARNING,
    "store_trouble": logging.WARNING,
    "lease_lost": logging.WARNING,
    "clock_jumped": logging.WARNING,
    "clock_skewed": logging.WARNING,
    "listener_failed": logging.ERROR,
    "engine_failed": logging.CRITICAL,
}

LATE = timedelta(seconds=10)
WRONG_CLOCK = timedelta(seconds=2)
PROMPT = frozenset({Trigger.SCHEDULE, Trigger.CATCH_UP, Trigger.MANUAL})  # they are to start at scheduled_for

_STARTED, _ENDED, _SKIPPED = Happening.STARTED, Happening.ENDED, Happening.SKIPPED
_WELL = frozenset({Outcome.SUCCEEDED, Outcome.CANCELLED})
_DEFINITIONS = (Happening.DECLARED, Happening.CHANGED, Happening.REMOVED)
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
    """A value as JSON has it: instants as text, durations in seconds."""
    if isinstance(value, timedelta):
        return round(value.total_seconds(), 3)
    return format_instant(value) if isinstance(value, datetime) else value


def quoted(value: object) -> str:
    """A value as one word; quoted if it would not be one, so that no field can pretend to be another."""
    text = str(value)
    if text and text.isprintable() and not set(text) & set(' "='):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def tell(event: str, cause: BaseException | None = None, /, **fields: Any) -> None:
    """Write a line, if somebody wants lines of its level; with the traceback of its cause."""
    level = LINES[event]
    if _logger.isEnabledFor(level):
        _logger.log(level, Line(event, fields), exc_info=cause)


class LogListener:
    """Tells the log how an engine and its jobs fare."""

    def __init__(self) -> None:
        self._troubles = 0
        self._node = ""
        self._is_skewed = False

    # -- what happens to jobs ----------------------------------------------------------------------

    def on_events(self, events: Sequence[Event]) -> None:
        late: list[tuple[Event, Attempt]] = []
        others: list[Event] = []
        for event in events:
            what, attempt = event.what, event.attempt
            if what is _STARTED and attempt is not None:
                if event.at - attempt.scheduled_for >= LATE and attempt.trigger in PROMPT:
                    late.append((event, attempt))
            elif what is not _ENDED or attempt is None:
                others.append(event)
            elif attempt.outcome not in _WELL:
                _tell_failure(event, attempt)
        if late:
            _tell_late(late)
        if others:
            _tell_others(others)
        if _logger.isEnabledFor(logging.DEBUG):
            for event in events:
                _tell_happening(event)

    # -- how the node fares ------------------------------------------------------------------------

    def on_trouble(self, error: StoreError) -> None:
        """A store is asked again and again: of its troubles in a row the 1st, 2nd, 4th, 8th … is told."""
        self._troubles += 1
        if self._troubles & (self._troubles - 1) == 0:
            tell("store_trouble", error=str(error), troubles=self._troubles)

    def on_turn(self, what: str, took: timedelta, held: int) -> None:
        pass

    def on_pulse(self, pulse: Pulse) -> None:
        if pulse.node != self._node:
            self._node = pulse.node
            tell("node_joined", node=pulse.node)
        if self._troubles:
            tell("store_answers", troubles=self._troubles)
            self._troubles = 0
        if abs(pulse.jump) >= WRONG_CLOCK:
            tell("clock_jumped", by=pulse.jump, node=pulse.node)
        is_skewed = abs(pulse.skew) >= WRONG_CLOCK
        if is_skewed and not self._is_skewed:
            tell("clock_skewed", by=pulse.skew, node=pulse.node)
        self._is_skewed = is_skewed

    def on_lease_lost(self, node: str) -> None:
        tell("lease_lost", node=node)


def _tell_failure(event: Event, attempt: Attempt) -> None:
    run, number, outcome = event.run_key, event.number, attempt.outcome
    said = event.reason.removeprefix(f"{outcome}: ")  # the error's first line; or what became of its node
    error = None if said == outcome else said
    tell("attempt_failed", run=run, attempt=number, outcome=outcome, error=error)


def _tell_late(late: Sequence[tuple[Event, Attempt]]) -> None:
    """One line for a batch, about the latest of it."""
    event, attempt = max(late, key=lambda start: start[0].at - start[1].scheduled_for)
    tell(
        "start_late",
        run=event.run_key,
        late=event.at - attempt.scheduled_for,
        trigger=attempt.trigger,
        reason=event.reason,
        others=len(late) - 1 or None,
    )


def _tell_others(events: Sequence[Event]) -> None:
    """What is told once for a batch, with the first job that it is about."""
    counts = Counter(event.what for event in events)
    if changed := {what.value: counts[what] for what in _DEFINITIONS if counts[what]}:
        tell("jobs_changed", **changed)
    skips: dict[str, list[str]] = {}
    for event in events:
        if event.what is _SKIPPED:
            skips.setdefault(event.reason, []).append(event.job)
        elif event.what in _BY_PEOPLE:
            tell(_BY_PEOPLE[event.what], job=event.job)
    for reason, jobs in skips.items():
        others = len(jobs) - 1 or None
        tell("occurrences_skipped", job=jobs[0], reason=reason, others=others)


def _tell_happening(event: Event) -> None:
    what, job, at, reason, run, number, _ = event
    tell("happened", what=what, job=job, at=at, reason=reason, run=run, attempt=number or None)
