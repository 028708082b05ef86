"""Starts of jobs that run after this one: a decision writes an outbox row for each run that is over for good.

A run is over for good when an attempt of it has ended and no other attempt is open. No job follows a run that
never started. The row is written in the same step as the end of the run, so neither exists without the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.engine.watching import alert_id
from foliot.model.alert import Alert, AlertKind
from foliot.model.attempt import Attempt, Outcome, Trigger
from foliot.model.chain import CHANNEL, Link
from foliot.model.outbox import ChannelAlert

if TYPE_CHECKING:
    from foliot.engine.draft import Draft

_AGAIN = {Trigger.RETRY: Outcome.FAILED, Trigger.LOST: Outcome.LOST}


def follow_up(draft: Draft, then: tuple[Link, ...]) -> tuple[ChannelAlert, ...]:
    """The rows of a decision."""
    open_runs = {(attempt.scheduled_for, attempt.request) for attempt in draft.open.values()}
    found: list[ChannelAlert] = []
    for attempt in draft.changed.values():
        outcome = None if attempt.is_open else _outcome(attempt)
        if outcome is None or (attempt.scheduled_for, attempt.request) in open_runs:
            continue
        run, job = attempt.run_key, draft.job
        alert = Alert(
            alert_id(job.key, AlertKind.AFTER, run, 0), draft.now, AlertKind.AFTER, job.key,
            run=run, attempt=attempt.number, outcome=outcome,
        )  # fmt: skip
        rows = (
            ChannelAlert(f"{CHANNEL}{job.source}/{link.job}", alert) for link in then if link.counts(outcome)
        )
        found += rows
    return tuple(found)


def _outcome(attempt: Attempt) -> Outcome | None:
    """How its run ended; None if it never started. A retry that never started has the outcome before it."""
    if attempt.node is not None:
        return attempt.outcome
    return _AGAIN.get(attempt.trigger)
