"""Jobs, attempts and nodes as texts of the store, and back.

A job's text is `MARK LANE WAKE BODY`: scripts read the first three words only. Without a wake the words are
`-`. The body is a JSON list: the format, the state, the open attempts, each with its order of opening, and
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
from foliot.stores.redis.layout import lane_id, time_text
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
_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_MICROSECOND = timedelta(microseconds=1)


def write_text(mark: str, record: Record, orders: tuple[int, ...], tally: Tally) -> str:
    """The text of a job."""
    job, state, attempts = record
    wake = "- -"
    if state.wake_at is not None:
        wake = f"{lane_id(job.queue, job.action.kind)} {time_text(whole(state.wake_at))}"
    rows = [(order, *attempt_row(attempt)) for order, attempt in zip(orders, attempts, strict=True)]
    return f"{mark} {wake} {_dumps((FORMAT, state_row(state), rows, tally))}"


def read_body(key: str, text: str) -> tuple[State, tuple[Attempt, ...], tuple[int, ...], Tally]:
    """State, open attempts with their orders of opening, and counts, of the text of a job."""
    try:
        _, _, _, body = text.split(" ", 3)
        format_, row, rows, counts = json.loads(body)
    except UNREADABLE as error:
        raise DamagedRecordError("state", text[:200], f"cannot be read: {error}") from error
    if format_ != FORMAT:
        raise DamagedRecordError("format", format_, f"is not {FORMAT}", flaw="unknown_here")
    try:
        state = read_state(tuple(row))
        attempts = tuple(read_attempt(key, one[1:]) for one in rows)
        return state, attempts, tuple(_count(one[0]) for one in rows), _tally(counts)
    except UNREADABLE as error:
        raise find_flaw(tuple(row) if isinstance(row, list) else (), (), error) from error


def _tally(counts: list[Any]) -> Tally:
    tally = Tally(*counts)
    _count(tally.opened)
    _count(tally.entries)
    for number in tally[2:]:
        if number is not None and type(number) is not int:
            raise TypeError(f"{number!r} counts nothing")
    return tally


def _count(number: Any) -> int:
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
        _count(count)
    for text in (request, node, error, reason, payload):
        if text is not None and type(text) is not str:
            raise TypeError(f"{text!r} is no text")
    return Attempt(
        key, number, TRIGGERS[trigger], STATES[state], an_instant(scheduled_for), request,
        instant(covers_from), instant(wake_at), node, token, instant(claimed_at), instant(deadline_at),
        instant(started_at), instant(finished_at), OUTCOMES[outcome], error, reason, retries, losses,
        exit_code, version, payload,
    )  # fmt: skip


def write_ended(attempt: Attempt, order: int) -> str:
    """An attempt of the past. What is nothing at the end is left out."""
    row = [order, *attempt_row(attempt)]
    while row[-1] is None or row[-1] == 0:
        row.pop()
    return _dumps(row)


_NOTHING = (0, *[None] * 15, 0, 0, None, 0, None)  # of an attempt's values, where they are left out


def read_ended(key: str, text: str | bytes) -> tuple[Attempt, int]:
    """An attempt of the past, and its order of opening."""
    order, *row = json.loads(text)
    return read_attempt(key, [*row, *_NOTHING[len(row) :]]), order


def write_node(node: Node) -> str:
    """What a node says of itself."""
    skew = node.skew // _MICROSECOND
    facts = node._replace(skew=skew)._asdict()  # type: ignore[arg-type]  # as a number
    return _dumps(facts)


def read_node(text: str | bytes) -> Node:
    """The node of such a text; what a newer version says beyond that is left aside."""
    facts = {name: value for name, value in json.loads(text).items() if name in Node._fields}
    facts["skew"] = facts["skew"] * _MICROSECOND
    facts["queues"] = tuple(facts["queues"])
    for field in ("limits", "slots"):
        facts[field] = tuple((name, count) for name, count in facts.get(field, ()))
    facts["kinds"] = None if facts["kinds"] is None else tuple(facts["kinds"])
    return Node(**facts)
