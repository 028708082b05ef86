"""Attempts, counts and nodes as lists of plain values, and back, for stores that keep a job as one value.

A job's *body* is a JSON list: the format, the state, the open attempts, each with its order of opening, and
the counts of the history. What is not as it must be raises one of `UNREADABLE`, or a DamagedRecordError.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from foliot.errors import DamagedRecordError
from foliot.model.attempt import Attempt
from foliot.model.json_text import clean_text
from foliot.model.state import Node, Record, State
from foliot.stores.optimistic.entry import Tally
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
from foliot.stores.sql.flaw import find_flaw
from foliot.stores.sql.rows import ABSURD, read_state, state_row

FORMAT = 1
Body = tuple[State, tuple[Attempt, ...], tuple[int, ...], Tally]
dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_MICROSECOND = timedelta(microseconds=1)
_NOTHING = (0, *[None] * 15, 0, 0, None, 0, None)  # of an attempt's values, where they are left out


def write_body(record: Record, orders: tuple[int, ...], tally: Tally) -> str:
    """What is stored of a job beside its definition."""
    rows = [(order, *attempt_row(attempt)) for order, attempt in zip(orders, record.attempts, strict=True)]
    return dumps((FORMAT, state_row(record.state), rows, tally))


def read_body(key: str, text: str) -> Body:
    """State, open attempts with their orders of opening, and counts."""
    try:
        format_, row, rows, counts = json.loads(text)
    except UNREADABLE as error:
        raise DamagedRecordError("state", text[:200], f"cannot be read: {error}") from error
    if format_ != FORMAT:
        raise DamagedRecordError("format", format_, f"is not {FORMAT}", flaw="unknown_here")
    try:
        state = read_state(tuple(row))
        attempts = tuple(read_attempt(key, one[1:]) for one in rows)
        return state, attempts, tuple(read_count(one[0]) for one in rows), read_tally(counts)
    except UNREADABLE as error:
        raise find_flaw(tuple(row) if isinstance(row, list) else (), (), error) from error


def read_tally(counts: list[Any]) -> Tally:
    """The counts of a history, of their values."""
    tally = Tally(*counts)
    read_count(tally.opened)
    read_count(tally.entries)
    for number in tally[2:]:
        if number is not None and type(number) is not int:
            raise TypeError(f"{number!r} counts nothing")
    return tally


def read_count(number: Any) -> int:
    """A number that counts something; ValueError if it cannot."""
    if type(number) is not int or not 0 <= number < ABSURD:
        raise ValueError(f"{number!r} is no count")
    return number


def attempt_row(attempt: Attempt) -> tuple[Any, ...]:
    """An attempt without its job, in plain values."""
    (
        _, number, trigger, state, scheduled_for, request, covers_from, wake_at, node, token,
        claimed_at, deadline_at, started_at, finished_at, outcome, error, reason, retries, losses,
        exit_code, version, payload,
    ) = attempt  # fmt: skip
    return (
        number, TRIGGER_CODES[trigger], STATE_CODES[state], whole(scheduled_for), request,
        micros(covers_from), micros(wake_at), node, token, micros(claimed_at), micros(deadline_at),
        micros(started_at), micros(finished_at), OUTCOME_CODES[outcome],
        None if error is None else clean_text(error), reason if reason.isascii() else clean_text(reason),
        retries, losses, exit_code, version, payload,
    )  # fmt: skip


def read_attempt(key: str, row: list[Any]) -> Attempt:
    """An attempt of a job, of its values."""
    (
        number, trigger, state, scheduled_for, request, covers_from, wake_at, node, token,
        claimed_at, deadline_at, started_at, finished_at, outcome, error, reason, retries, losses,
        exit_code, version, payload,
    ) = row  # fmt: skip
    for count in (number, token, retries, losses, version):
        read_count(count)
    for text in (request, node, error, reason, payload):
        if text is not None and type(text) is not str:
            raise TypeError(f"{text!r} is no text")
    return Attempt(
        key, number, TRIGGERS[trigger], STATES[state], an_instant(scheduled_for), request,
        instant(covers_from), instant(wake_at), node, token, instant(claimed_at), instant(deadline_at),
        instant(started_at), instant(finished_at), OUTCOMES[outcome], error, reason, retries, losses,
        exit_code, version, payload,
    )  # fmt: skip


def ended_row(attempt: Attempt, order: int) -> list[Any]:
    """An attempt of the past, after its order of opening. What is nothing at the end is left out."""
    row = [order, *attempt_row(attempt)]
    while row[-1] is None or row[-1] == 0:
        row.pop()
    return row


def read_ended_row(key: str, row: list[Any]) -> tuple[Attempt, int]:
    """An attempt of the past, and its order of opening."""
    order, *values = row
    return read_attempt(key, [*values, *_NOTHING[len(values) :]]), order


def write_node(node: Node) -> str:
    """What a node says of itself."""
    skew = node.skew // _MICROSECOND
    facts = node._replace(skew=skew)._asdict()  # type: ignore[arg-type]  # as a number
    return dumps(facts)


def read_node(text: str | bytes) -> Node:
    """The node of such a text; what a newer version says beyond that is left aside."""
    facts = {name: value for name, value in json.loads(text).items() if name in Node._fields}
    facts["skew"] = facts["skew"] * _MICROSECOND
    facts["queues"] = tuple(facts["queues"])
    for field in ("limits", "slots"):
        facts[field] = tuple((name, count) for name, count in facts.get(field, ()))
    facts["kinds"] = None if facts["kinds"] is None else tuple(facts["kinds"])
    return Node(**facts)
