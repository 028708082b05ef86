"""What `foliot run` tells of attempts: rows for a table, labels and values for people, facts for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from foliot.cli.moment import both, relative, span
from foliot.cli.table import Cell, Column, Row
from foliot.model.attempt import Attempt, Outcome

COLUMNS = (
    Column("RUN"),
    Column("TRY", 3),
    Column("STATE"),
    Column("STARTED"),
    Column("TOOK", 1),
    Column("LATE", 4),
    Column("TRIGGER", 2),
    Column("NODE", 5),
)
ATTEMPT_COLUMNS = (
    Column("TRY"),
    Column("STATE"),
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


def took(attempt: Attempt) -> timedelta | None:
    """How long an attempt ran."""
    if attempt.started_at is None or attempt.finished_at is None:
        return None
    return attempt.finished_at - attempt.started_at


def lateness(attempt: Attempt) -> timedelta | None:
    """How long after its time an attempt began; a retry has no time of its own."""
    began = attempt.started_at or attempt.claimed_at
    return None if began is None or attempt.number > 1 else began - attempt.scheduled_for


def attempt_row(attempt: Attempt, now: datetime) -> Row:
    """A line of the list."""
    began = attempt.started_at or attempt.claimed_at
    return (
        attempt.run_key,
        f"#{attempt.number}",
        state_cell(attempt),
        relative(began or attempt.wake_at, now),
        span(took(attempt)),
        span(lateness(attempt)),
        attempt.trigger.value,
        attempt.node or "",
    )


def attempts_rows(attempts: Sequence[Attempt], now: datetime) -> list[Row]:
    """The lines of one run."""
    rows: list[Row] = []
    for attempt in attempts:
        _, number, state, began, length, late, trigger, node = attempt_row(attempt, now)
        rows.append((number, state, trigger, began, length, late, node))
    return rows


def told(attempts: Sequence[Attempt], now: datetime) -> list[tuple[str, Cell | str | None]]:
    """A run, for people."""
    first, last = attempts[0], attempts[-1]
    return [
        ("run", Cell(last.run_key, "heading")),
        ("job", last.job),
        ("state", state_cell(last)),
        ("scheduled for", both(first.scheduled_for, now)),
        ("covers from", both(first.covers_from, now)),
        ("reason", last.reason),
        ("error", last.error.partition("\n")[0] if last.error else None),
    ]


def ending_of(attempt: Attempt) -> str:
    """How a run ended, in a few words."""
    if attempt.outcome is None:
        return f"is still {attempt.state}"
    length = took(attempt)
    after = "" if length is None else f" after {span(length)}"
    error = f": {attempt.error.splitlines()[0]}" if attempt.error else ""
    return f"{attempt.outcome.replace('_', ' ')}{after}{error}"


def attempt_facts(attempt: Attempt) -> dict[str, Any]:
    """One attempt, for JSON."""
    return {"run": attempt.run_key, **attempt._asdict()}
