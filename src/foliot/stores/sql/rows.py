"""Converts rows to values and back, by position. Most of the cost of a run is here.

Reading an invalid row raises one of `UNREADABLE`, or a DamagedRecordError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from foliot.model.attempt import Attempt
from foliot.model.json_text import clean_text
from foliot.model.outbox import ChannelAlert
from foliot.model.state import State
from foliot.model.watch import Watch
from foliot.stores.sql.codes import (
    OUTCOME_CODES,
    OUTCOMES,
    STATE_CODES,
    STATES,
    TRIGGER_CODES,
    TRIGGERS,
    UNREADABLE,
    an_instant,
    instant,
    micros,
    whole,
)

if TYPE_CHECKING:
    from foliot.stores.sql.interned import Interned

Row = tuple[Any, ...]
new = tuple.__new__  # all fields in order; this takes half the time of calling the class

STATE_COLUMNS = (
    "token, created_at, wake_at, served_until, next_at, paused_at, removed_at, "
    "fired_count, failures_in_row, last_attempt_at, last_failure_at, last_run, "
    "version, defined_at, paused_reason, last_problem, watch, paused_until"
)
ATTEMPT_COLUMNS = (
    "job_no, number, trigger, state, scheduled_for, request, covers_from, wake_at, node_no, token, "
    "claimed_at, deadline_at, started_at, finished_at, outcome, error, reason, retries, losses, exit_code, "
    "version, payload"
)
ABSURD = 2**62  # larger counters would soon overflow the column
ORDINAL = 22  # appended to the columns of an attempt where the order matters


def read_state(row: Row) -> State:
    """The state of a row."""
    (
        token, created_at, wake, served, next_, paused, removed, fired, failures, last, failure, run,
        version, defined, why_paused, problem, watch, until,
    ) = row  # fmt: skip
    if not type(token) is type(fired) is type(failures) is type(version) is int:
        raise TypeError("the state counts with something that is no number")
    if not (0 <= token < ABSURD and 0 <= fired < ABSURD and 0 <= failures < ABSURD and 0 < version < ABSURD):
        raise ValueError("the state counts beyond all bounds")
    if any(text is not None and type(text) is not str for text in (run, why_paused, problem)):
        raise TypeError("the state's last run or problem, or the reason of its pause, is no text")
    return new(State, (
        token, an_instant(created_at), instant(wake), instant(served), instant(next_), instant(paused),
        instant(removed), fired, failures, instant(last), instant(failure), run,
        version, instant(defined), None if paused is None else why_paused, problem,
        None if watch is None else Watch.from_json(watch), None if paused is None else instant(until),
    ))  # fmt: skip


def state_row(state: State) -> Row:
    """The columns of a state."""
    (
        token, created_at, wake, served, next_, paused, removed, fired, failures, last, failure, run,
        version, defined, why_paused, problem, watch, until,
    ) = state  # fmt: skip
    return (
        token, micros(created_at), micros(wake), micros(served), micros(next_), micros(paused),
        micros(removed), fired, failures, micros(last), micros(failure), run,
        version, micros(defined), None if why_paused is None else clean_text(why_paused), problem,
        None if watch is None else watch.to_json(), micros(until),
    )  # fmt: skip


def read_attempt(row: Row, key: str, names: Interned) -> Attempt:
    """The attempt of a row."""
    number, request, token, exit_code, version, payload = row[1], row[5], row[9], row[19], row[20], row[21]
    if type(number) is not int or type(token) is not int or type(request) is not str:
        raise TypeError("the attempt counts with something that is no number")
    if (exit_code is not None and type(exit_code) is not int) or type(version) is not int:
        raise TypeError("the attempt's exit code or version is no number")
    if payload is not None and type(payload) is not str:
        raise TypeError("the attempt's payload is no text")
    if number >= ABSURD or token >= ABSURD:
        raise ValueError("the attempt counts beyond all bounds")
    return Attempt(
        key, number, TRIGGERS[row[2]], STATES[row[3]], an_instant(row[4]), request[1:] if request else None,
        instant(row[6]), instant(row[7]), names.node(row[8]), token, instant(row[10]), instant(row[11]),
        instant(row[12]), instant(row[13]), OUTCOMES[row[14]], row[15], row[16], row[17], row[18],
        exit_code, version, payload,
    )  # fmt: skip


def request_text(request: str | None) -> str:
    """A request as a part of a key: empty if there is none."""
    return "" if request is None else f"!{request}"


def attempt_key(attempt: Attempt, job_no: int) -> Row:
    """The key of an attempt, in the order of its columns."""
    return micros(attempt[4]), job_no, request_text(attempt[5]), attempt[1]


def attempt_row(attempt: Attempt, names: Interned) -> Row:
    """The other columns of an attempt, in the order of the table."""
    (
        _, _, trigger, state, _, _, covers_from, wake_at, node, token,
        claimed_at, deadline_at, started_at, finished_at, outcome, error, reason, retries, losses,
        exit_code, version, payload,
    ) = attempt  # fmt: skip
    return (
        TRIGGER_CODES[trigger], STATE_CODES[state], micros(covers_from), micros(wake_at),
        names.node_number(node), token, micros(claimed_at), micros(deadline_at), micros(started_at),
        micros(finished_at), OUTCOME_CODES[outcome], None if error is None else clean_text(error),
        reason if reason.isascii() else clean_text(reason), retries, losses, exit_code,
        version, payload,
    )  # fmt: skip


def alert_row(told: ChannelAlert) -> Row:
    """The columns of an alert that waits."""
    alert = told.alert
    return alert.id, told.channel, whole(alert.at), clean_text(alert.job), alert.kind.value, alert.to_json()


def read_those_that_can_be(rows: Iterable[Row], names: Interned) -> Iterator[tuple[Row, Attempt]]:
    """The readable attempts of rows that end with a job's key. The next claim sets the others aside."""
    for row in rows:
        with suppress(*UNREADABLE):
            yield row, read_attempt(row, row[-1], names)
