"""Events as an engine tells them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.decision import Event, Happening
from foliot.model.view import NodeHealth

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
NODE = "n1"


def attempt(job: str = "app/a", **fields: Any) -> Attempt:
    known = {"number": 1, "trigger": Trigger.SCHEDULE, "state": AttemptState.RUNNING, "scheduled_for": NOON}
    return Attempt(job=job, **{"node": NODE, "claimed_at": NOON, **known, **fields})


def started(job: str = "app/a", *, late: float = 0, **fields: Any) -> Event:
    at = NOON + late * SECOND
    it = attempt(job, claimed_at=at, reason="its occurrence has come", **fields)
    return Event(Happening.STARTED, job, at, it.reason, it.run_key, it.number, it)


def ended(
    job: str = "app/a",
    outcome: Outcome = Outcome.SUCCEEDED,
    *,
    reason: str = "",
    took: float = 2,
    **fields: Any,
) -> Event:
    times = {
        "claimed_at": NOON,
        "started_at": NOON + 0.5 * SECOND,
        "finished_at": NOON + (took + 0.5) * SECOND,
    }
    it = attempt(job, **{"state": AttemptState.ENDED, "outcome": outcome, **times, **fields})
    return Event(Happening.ENDED, job, NOON + SECOND, reason or outcome, it.run_key, it.number, it)


def told(what: Happening, job: str = "app/a", reason: str = "") -> Event:
    return Event(what, job, NOON, reason)


def health(
    node: str = NODE,
    *,
    after: float = 0,
    jump: float = 0,
    skew: float = 0,
    overdue: float = 0,
    backlog: int = 0,
) -> NodeHealth:
    at = NOON + after * SECOND
    return NodeHealth(node, at, jump * SECOND, skew * SECOND, overdue * SECOND, backlog)
