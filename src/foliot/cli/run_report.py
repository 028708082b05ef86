"""What `foliot run` tells of attempts: rows for a table, labels and values for people, facts for JSON."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from foliot.cli.instants import both
from foliot.cli.short import Names
from foliot.cli.table import Cell, Column, Row
from foliot.model.attempt import Attempt, Outcome
from foliot.model.payload import read_payload
from foliot.operations.facts import lateness, took
from foliot.shown import relative, span

COLUMNS = (
    Column("RUN"),
    Column("TRY", 3),
    Column("STATE"),
    Column("EXIT", 1),
    Column("STARTED"),
    Column("TOOK", 1),
    Column("LATE", 4),
    Column("TRIGGER", 2),
    Column("NODE", 5),
    Column("ERROR", 2, 20),
)
# On a terminal: the name is not drowned by the rest of a run's key.
SHORT_COLUMNS = (
    Column("JOB", least=15),
    Column("FOR"),
    *(Column("STARTED", 1) if column.heading == "STARTED" else column for column in COLUMNS[1:]),
)
ATTEMPT_COLUMNS = (
    Column("TRY"),
    Column("STATE"),
    Column("EXIT", 1),
    Column("TRIGGER", 1),
    Column("STARTED"),
    Column("TOOK"),
    Column("LATE", 2),
    Column("NODE", 3),
)
_COLOURS = {Outcome.SUCCEEDED: "green", Outcome.CANCELLED: "yellow", Outcome.INTERRUPTED: "yellow"}


def state_cell(attempt: Attempt) -> Cell:
    """The outcome of an attempt, or where it stands."""
    if attempt.outcome is not None:
        return Cell(attempt.outcome.value, _COLOURS.get(attempt.outcome, "red"))
    return Cell(attempt.state.value, "cyan" if attempt.is_running else None)


def attempt_row(attempt: Attempt, now: datetime, names: Names = Names()) -> Row:  # noqa: B008 - it is frozen
    """A line of the list. On a terminal the key of the run is two columns: its job, and which run."""
    began = attempt.started_at or attempt.claimed_at
    key = (names.job(attempt.job), names.occasion(attempt)) if names.is_short else (attempt.run_key,)
    return (
        *key,
        f"#{attempt.number}",
        state_cell(attempt),
        exit_word(attempt.exit_code) or "",
        relative(began or attempt.wake_at, now),
        span(took(attempt)),
        span(lateness(attempt)),
        attempt.trigger.value,
        names.id(attempt.node or ""),
        (attempt.error or "").partition("\n")[0],
    )


def attempts_rows(attempts: Sequence[Attempt], now: datetime) -> list[Row]:
    """The lines of one run."""
    rows: list[Row] = []
    for attempt in attempts:
        _, number, state, end, began, length, late, trigger, node, _error = attempt_row(attempt, now)
        rows.append((number, state, end, trigger, began, length, late, node))
    return rows


def told(attempts: Sequence[Attempt], now: datetime) -> list[tuple[str, Cell | str | None]]:
    """A run, for people."""
    first, last = attempts[0], attempts[-1]
    error, ended_with = (error_of(attempts) or "").partition("\n")[0], exit_words(last.exit_code)
    return [
        ("run", Cell(last.run_key, "heading")),
        ("job", last.job),
        ("state", state_cell(last)),
        ("scheduled for", both(first.scheduled_for, now)),
        ("covers from", both(first.covers_from, now)),
        ("reason", last.reason),
        ("payload", last.payload),
        ("ended with", None if error == ended_with else ended_with),
        ("error", error),
    ]


def error_of(attempts: Sequence[Attempt]) -> str | None:
    """The last error of a run that has not succeeded; while it waits for a retry, that of the try before."""
    if attempts[-1].outcome is Outcome.SUCCEEDED:
        return attempts[-1].error
    return next((attempt.error for attempt in reversed(attempts) if attempt.error), None)


def exit_word(code: int | None) -> str | None:
    """What a process ended with, in a word: its exit code, or the name of the signal that ended it."""
    if code is None or code >= 0:
        return None if code is None else str(code)
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def exit_words(code: int | None) -> str | None:
    """The same in a few words: `exit code 3`, `killed by SIGTERM`."""
    word = exit_word(code)
    return word if code is None else f"killed by {word}" if code < 0 else f"exit code {word}"


def ending_of(attempt: Attempt) -> str:
    """How a run ended, in a few words."""
    if attempt.outcome is None:
        return f"is still {attempt.state}"
    length = took(attempt)
    after = "" if length is None else f" after {span(length)}"
    error = f": {attempt.error.splitlines()[0]}" if attempt.error else ""
    return f"{attempt.outcome.replace('_', ' ')}{after}{error}"


def attempt_facts(attempt: Attempt) -> dict[str, Any]:
    """One attempt, for JSON; `signal` is the name of the one that ended its process."""
    code = attempt.exit_code
    name = exit_word(code) if code is not None and code < 0 else None
    payload = read_payload(attempt.payload)
    return {"run": attempt.run_key, **attempt._asdict(), "payload": payload, "signal": name}
