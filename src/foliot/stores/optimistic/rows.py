"""Attempts, counts and nodes as lists of plain values, and back, for stores that keep a job as one value.

A job's *body* is a JSON list: the format, the state, the open attempts, each with its order of opening, and
the counters of the history. Invalid values raise one of `UNREADABLE`, or a DamagedRecordError.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from json.encoder import encode_basestring
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
    whole,
)
from foliot.stores.sql.flaw import find_flaw
from foliot.stores.sql.rows import ABSURD, read_state

FORMAT = 1
Body = tuple[State, tuple[Attempt, ...], tuple[int, ...], Tally]
dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_DECODER = json.JSONDecoder()
_MICROSECOND = timedelta(microseconds=1)
_NOTHING = (0, *[None] * 15, 0, 0, None, 0, None)  # the defaults of an attempt's values
_MOST_KEPT = 20_000
_SHORT_STATE = len(State._fields) - 1  # most states have no `paused_until`; older programs do not know it


class _Texts(dict[datetime | None, str]):
    """A cache of instants as texts: a herd shares its instants."""

    def __missing__(self, at: datetime | None) -> str:
        if len(self) >= _MOST_KEPT:
            self.clear()
        found = self[at] = "null" if at is None else str(whole(at))
        return found


_AT = _Texts()


# The JSON is put together by hand, because the encoder of the library takes five times as long.


def write_body(record: Record, orders: tuple[int, ...], tally: Tally) -> str:
    """The stored text of a job, without its definition."""
    rows = [f"[{order},{_attempt_text(a)}]" for order, a in zip(orders, record.attempts, strict=True)]
    counts = [_number(count) for count in tally]
    return f"[{FORMAT},{_state_text(record.state)},[{','.join(rows)}],[{','.join(counts)}]]"


def _number(number: int | None) -> str:
    return "null" if number is None else str(number)


def _word(text: str | None) -> str:
    return "null" if text is None else encode_basestring(text)


def _state_text(state: State) -> str:
    (
        token, created_at, wake, served, next_, paused, removed, fired, failures, last, failure, run,
        version, defined, why_paused, problem, watch, until,
    ) = state  # fmt: skip
    why = None if why_paused is None else clean_text(why_paused)
    watched = None if watch is None else watch.to_json()
    return (
        f"[{token},{_AT[created_at]},{_AT[wake]},{_AT[served]},{_AT[next_]},{_AT[paused]},{_AT[removed]},"
        f"{fired},{failures},{_AT[last]},{_AT[failure]},{_word(run)},{version},{_AT[defined]},{_word(why)},"
        f"{_word(problem)},{_word(watched)}{'' if until is None else f',{_AT[until]}'}]"
    )


def read_body(key: str, text: str) -> Body:
    """State, open attempts with their orders of opening, and counts."""
    try:
        format_, row, rows, counts = _decode(text)
    except UNREADABLE as error:
        raise DamagedRecordError("state", text[:200], f"cannot be read: {error}") from error
    if format_ != FORMAT:
        raise DamagedRecordError("format", format_, f"is not {FORMAT}", flaw="unknown_here")
    try:
        state = read_state(tuple(row) if len(row) > _SHORT_STATE else (*row, None))
        attempts = tuple(read_attempt(key, one[1:]) for one in rows)
        return state, attempts, tuple(read_count(one[0]) for one in rows), read_tally(counts)
    except UNREADABLE as error:
        raise find_flaw(tuple(row) if isinstance(row, list) else (), (), error) from error


def _decode(text: str) -> Any:
    """What `json.loads` does, without looking for white space around it."""
    found, end = _DECODER.raw_decode(text)
    return found if end == len(text) else json.loads(text)


def read_tally(counts: list[Any]) -> Tally:
    """The counters of a history."""
    tally = Tally(*counts)
    read_count(tally.opened)
    read_count(tally.entries)
    for number in tally[2:]:
        if number is not None and type(number) is not int:
            raise TypeError(f"{number!r} counts nothing")
    return tally


def read_count(number: Any) -> int:
    """The number, if it is a valid count; otherwise ValueError."""
    if type(number) is not int or not 0 <= number < ABSURD:
        raise ValueError(f"{number!r} is no count")
    return number


def _attempt_text(attempt: Attempt, *, is_short: bool = False) -> str:
    """An attempt without its job, as JSON values with commas. `is_short`: without defaults at the end."""
    (
        _, number, trigger, state, scheduled_for, request, covers_from, wake_at, node, token,
        claimed_at, deadline_at, started_at, finished_at, outcome, error, reason, retries, losses,
        exit_code, version, payload,
    ) = attempt  # fmt: skip
    said = None if error is None else clean_text(error)
    why = reason if reason.isascii() else clean_text(reason)
    text = (
        f"{number},{TRIGGER_CODES[trigger]},{STATE_CODES[state]},{_AT[scheduled_for]},{_word(request)},"
        f"{_AT[covers_from]},{_AT[wake_at]},{_word(node)},{token},{_AT[claimed_at]},{_AT[deadline_at]},"
        f"{_AT[started_at]},{_AT[finished_at]},{_number(OUTCOME_CODES[outcome])},{_word(said)},{_word(why)}"
    )
    if is_short and not retries and not losses and exit_code is None and not version and payload is None:
        return text
    rest = f"{text},{retries},{losses},{_number(exit_code)},{version}"
    return rest if is_short and payload is None else f"{rest},{_word(payload)}"


def read_attempt(key: str, row: list[Any]) -> Attempt:
    """The attempt of a list of values."""
    if len(row) < len(_NOTHING):
        row = [*row, *_NOTHING[len(row) :]]
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


def write_ended(attempt: Attempt, order: int) -> str:
    """The text of an ended attempt, with its order of opening."""
    return f"[{order},{_attempt_text(attempt, is_short=True)}]"


def read_ended(key: str, text: str | bytes) -> tuple[Attempt, int]:
    """An ended attempt, and its order of opening."""
    order, *row = json.loads(text)
    return read_attempt(key, row), order


def write_node(node: Node) -> str:
    """The text of a node."""
    skew = node.skew // _MICROSECOND
    facts = node._replace(skew=skew)._asdict()  # type: ignore[arg-type]  # as a number
    return dumps(facts)


def read_node(text: str | bytes) -> Node:
    """The node of a text. Fields of newer versions are ignored."""
    facts = {name: value for name, value in json.loads(text).items() if name in Node._fields}
    facts["skew"] = facts["skew"] * _MICROSECOND
    facts["queues"] = tuple(facts["queues"])
    for field in ("limits", "slots"):
        facts[field] = tuple((name, count) for name, count in facts.get(field, ()))
    facts["kinds"] = None if facts["kinds"] is None else tuple(facts["kinds"])
    return Node(**facts)
