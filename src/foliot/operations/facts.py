"""States of jobs and nodes as single words, and jobs that wait for a node. The CLI and the API share them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from foliot.model.attempt import Attempt
from foliot.model.state import Problem
from foliot.model.view import NodeView
from foliot.operations.questions import can_start
from foliot.protocols import JobView
from foliot.schedules import Never
from foliot.wiring import FullStore

NodeState = Literal["alive", "draining", "silent"]

# Problems without a failure: a run that is not repeated, or an occurrence without a run.
_NOT_WELL = (Problem.LOST, Problem.INTERRUPTED, Problem.MISSED)
_ADDED = ".added"  # jobs that an application adds while it runs have a source of their own


def state_of(view: JobView) -> tuple[str, ...]:
    """The state of a job as single words; `ok` if there is no other."""
    if view.record is None or view.damage is not None:
        return ("damaged",)
    job, state, attempts = view.record
    facts = {
        "removed": state.removed_at is not None,
        "running": any(attempt.is_running for attempt in attempts),
        "waiting": any(not attempt.is_running for attempt in attempts),
        "paused": state.paused_at is not None,
        "disabled": not job.enabled,
        "failing": state.failures_in_row > 0,
        **{problem.value: state.last_problem == problem for problem in _NOT_WELL},
    }
    words = tuple(word for word, is_true in facts.items() if is_true)
    is_to_run = state.next_at is not None or isinstance(job.schedule, Never)
    return words or (("ok",) if is_to_run else ("finished",))


def next_at(view: JobView) -> datetime | None:
    """When a job runs next, if it will."""
    if view.record is None or view.damage is not None:
        return None
    job, state, _ = view.record
    is_served = job.enabled and state.paused_at is None and state.removed_at is None
    return state.next_at if is_served else None


def node_state(view: NodeView, now: datetime) -> NodeState:
    """`alive`, `draining`, or `silent`. A silent node is dead, suspended, or cut off from the store."""
    if view.until < now:
        return "silent"
    return "draining" if view.node.is_draining else "alive"


def serves_source(view: NodeView, source: str) -> bool:
    """Whether a node declares a source: it follows that repository, or runs the code of that application.

    Such a node serves a kind of action that names the source: `shell:ops`, `code:billing/r7`.
    """
    subjects = {kind.partition(":")[2].partition("/")[0] for kind in view.node.kinds or ()}
    return not subjects.isdisjoint((source, source.removesuffix(_ADDED)))


def took(attempt: Attempt) -> timedelta | None:
    """How long an attempt ran."""
    if attempt.started_at is None or attempt.finished_at is None:
        return None
    return attempt.finished_at - attempt.started_at


def lateness(attempt: Attempt) -> timedelta | None:
    """How late an attempt began; None for a retry, which has no scheduled time."""
    began = attempt.started_at or attempt.claimed_at
    return None if began is None or attempt.number > 1 else began - attempt.scheduled_for


class Unserved(NamedTuple):
    """Due jobs of a queue and an action: how many, and since when the first one waits."""

    queue: str
    action: str
    jobs: int
    since: datetime


async def find_unserved(store: FullStore, nodes: Sequence[NodeView], now: datetime) -> list[Unserved]:
    """Due jobs whose queue and action no running node serves. A draining node does not count."""
    found = []
    for queue, kind, wake_at in (await store.overview()).lanes:
        if wake_at <= now and not any(can_start(view, queue, kind, now) for view in nodes):
            count = (await store.wakes((queue,), (kind,), now)).due
            found.append(Unserved(queue, kind, count, wake_at))
    return [unserved for unserved in found if unserved.jobs]  # a node may have come meanwhile
