"""A summary of the memory store."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from foliot.model.state import Record
from foliot.model.view import Lane, Overview


def overview_of(records: Iterable[Record], damaged: Collection[str], nodes: Iterable[str]) -> Overview:
    """How much the store has, and when the next job wakes; damaged jobs do not wake."""
    there = [record for record in records if record.state.removed_at is None]
    wakes: dict[tuple[str, str], datetime] = {}
    for job, state, _ in (record for record in there if record.job.key not in damaged):
        if state.wake_at is not None:
            lane = job.queue, job.action.kind
            wakes[lane] = min(state.wake_at, wakes.get(lane, state.wake_at))
    return Overview(
        jobs=len(there),
        damaged=len(damaged),
        open_attempts=sum(len(record.attempts) for record in there),
        nodes=tuple(sorted(nodes)),
        next_wake_at=min(wakes.values(), default=None),
        lanes=tuple(Lane(*lane, wake_at) for lane, wake_at in sorted(wakes.items())),
        paused=sum(record.state.paused_at is not None for record in there),
        failing=sum(record.state.failures_in_row > 0 for record in there),
    )
