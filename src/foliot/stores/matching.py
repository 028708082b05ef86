"""Small questions that the store in memory asks: does an ending fit, is a job meant."""

from __future__ import annotations

from datetime import datetime

from foliot.model.attempt import Ending
from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.protocols import DecideEnded, DecideLost, JobQuery, JobView


def swap_end(decide: DecideEnded, ending: Ending, now: datetime, record: Record) -> Decision:
    """What is to be done about an ending, as a command about its job."""
    return decide(record, ending, now)


def swap_loss(decide: DecideLost, run_key: str, number: int, now: datetime, record: Record) -> Decision:
    """What is to be done about a loss, as a command about its job."""
    return decide(record, run_key, number, now)


def is_held(record: Record, ending: Ending, node: str) -> bool:
    """Whether an ending is about an attempt that the node holds, under its token."""
    return any(
        a.is_running
        and a.node == node
        and a.token == ending.token
        and (a.run_key, a.number) == (ending.run_key, ending.number)
        for a in record.attempts
    )


def is_wanted(view: JobView, query: JobQuery) -> bool:
    """Whether a query means a job."""
    record, (source, _, name) = view.record, view.key.partition("/")
    is_there = record is None or query.with_removed or record.state.removed_at is None
    return is_there and query.source in (None, source) and query.name in (None, name)
