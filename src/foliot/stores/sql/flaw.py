"""Finds the invalid column of a row that could not be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain

from foliot.errors import DamagedRecordError
from foliot.model.damage import Flaw
from foliot.stores.sql.codes import OUTCOMES, STATES, TRIGGERS, UNREADABLE, instant
from foliot.stores.sql.rows import ABSURD, ATTEMPT_COLUMNS, STATE_COLUMNS, Row

_COUNTS = ("token", "fired_count", "failures_in_row", "number", "retries", "losses", "version")
_TEXTS = ("last_run", "request", "error", "reason", "paused_reason", "last_problem", "payload", "watch")
_REQUIRED = (*_COUNTS, "created_at", "scheduled_for", "trigger", "state", "request")
_CODES: dict[str, Collection[object]] = {"trigger": TRIGGERS, "state": STATES, "outcome": OUTCOMES}
_NUMBERS = ("job_no", "node_no", "exit_code")


def find_flaw(state: Row, attempts: Sequence[Row], error: Exception) -> DamagedRecordError:
    """The first invalid field of a state, or of one of its open attempts."""
    flaws: Iterator[DamagedRecordError] = _flaws(STATE_COLUMNS, state)
    for row in attempts:
        flaws = chain(flaws, _flaws(ATTEMPT_COLUMNS, row))
    unknown = DamagedRecordError("state", None, f"cannot be read: {error}", flaw=Flaw.STRUCTURE)
    return next(flaws, unknown)


def _flaws(columns: str, row: Row) -> Iterator[DamagedRecordError]:
    for name, value in zip(columns.split(", "), row, strict=False):
        if value is None:
            if name in _REQUIRED:
                yield DamagedRecordError(name, None, "is missing", flaw=Flaw.MISSING)
        elif name in _CODES:
            if value not in _CODES[name]:
                yield DamagedRecordError(name, value, "is not known")
        elif name in _TEXTS:
            yield from _of_type(name, value, str, "a text")
        elif name in _COUNTS or name in _NUMBERS:
            yield from _of_type(name, value, int, "a whole number", _check_count)
        else:
            yield from _of_type(name, value, int, "an instant", instant)


def _of_type(
    name: str, value: object, wanted: type, words: str, check: Callable[[int], object] | None = None
) -> Iterator[DamagedRecordError]:
    if type(value) is not wanted:
        yield DamagedRecordError(name, value, f"must be {words}", flaw=Flaw.TYPE, expected=words)
    elif check is not None and isinstance(value, int):
        try:
            check(value)
        except UNREADABLE:
            yield DamagedRecordError(name, value, f"is beyond all bounds of {words}")


def _check_count(number: int) -> None:
    if not 0 <= number < ABSURD:
        raise ValueError(number)
