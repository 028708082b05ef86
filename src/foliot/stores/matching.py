"""Small questions that stores ask: does an ending fit, is a job meant."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from foliot.model.attempt import Attempt, AttemptState, Ending
from foliot.model.decision import Decision
from foliot.model.state import CORRECTION, Record
from foliot.protocols import DecideDue, DecideEnded, DecideLost, JobQuery, JobView


def swap_end(decide: DecideEnded, ending: Ending, now: datetime, record: Record) -> Decision:
    """What is to be done about an ending, as a command about its job."""
    return decide(record, ending, now)


def swap_loss(decide: DecideLost, run_key: str, number: int, now: datetime, record: Record) -> Decision:
    """What is to be done about a loss, as a command about its job."""
    return decide(record, run_key, number, now)


def decide_once(
    decide: DecideDue, has_run: Callable[[Attempt], bool], now: datetime, node: str, record: Record
) -> Decision:
    """What is to be done about a job that is due, as a command about it.

    An occurrence that has run comes again if the clock was set back. It is not run again: the planner is
    shown the attempt that it would repeat, as one that has ended, and is asked anew.
    """
    decision, shown = decide(record, now, node), {attempt.key for attempt in record.attempts}
    while ran := [a for a in decision.attempts if _is_first(a) and a.key not in shown and has_run(a)]:
        shown.update(attempt.key for attempt in ran)
        ended = (attempt._replace(state=AttemptState.ENDED) for attempt in ran)
        record = record._replace(attempts=(*record.attempts, *ended))
        decision = decide(record, now, node)
    return decision


def _is_first(attempt: Attempt) -> bool:
    """Whether it begins the run of an occurrence."""
    return attempt.number == 1 and attempt.request is None


def is_held(record: Record, ending: Ending, node: str) -> bool:
    """Whether an ending is about an attempt that the node holds, under its token."""
    for attempt in record.attempts:  # a loop, because a finish asks this of every ending
        if (
            attempt.number == ending.number
            and attempt.token == ending.token
            and attempt.node == node
            and attempt.is_running
            and attempt.run_key == ending.run_key
        ):
            return True
    return False


def lease_end(until: datetime, now: datetime, lease: timedelta) -> datetime:
    """Until when a lease lasts. One that ends hours too far ahead began before the clock was set back."""
    return now + lease if until > now + lease + CORRECTION else until


def is_wanted(view: JobView, query: JobQuery) -> bool:
    """Whether a query means a job."""
    record, (source, _, name) = view.record, view.key.partition("/")
    is_there = record is None or query.with_removed or record.state.removed_at is None
    return is_there and query.source in (None, source) and query.name in (None, name)
