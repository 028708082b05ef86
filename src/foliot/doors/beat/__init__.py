"""Beat: schedules in code, Redis between the nodes, and a queue that gets the jobs: Celery's or your own.

    registry = Registry()
    registry.must_register(Schedule("cleanup", cron="0 * * * *", job="cleanup_old_data"))
    scheduler = CronScheduler(registry, queue, "redis://localhost:6379/0")
    await scheduler.start()                      # until cancelled, or `await scheduler.stop()`

A schedule becomes a job of the store in the namespace of the prefix, with the policies of `presets.BEAT`: a
new one fires at once, one run for all that was missed, a failed enqueue is tried again until the next
occurrence takes its place. There is one action, `beat:enqueue` (`executor`):

    claimed by one node ─▶ lock and state ─▶ queue.enqueue(job) ─▶ state, release

Invariants: the claim decides who enqueues, never the lock; every try of an occurrence has the same `job.id`;
the payload reaches the queue byte for byte; a schedule whose lock or state cannot be read delays no other. A
node that dies after the queue took the job, and before the state says so, has its successor enqueue it again,
with the same id.

Read `schedule` and `registry`, then `state` (what is in Redis), `executor`, `scheduler`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foliot.doors.beat.errors import BeatError, DuplicateScheduleError, InvalidScheduleError, LockError
from foliot.doors.beat.lock import DistributedLock
from foliot.doors.beat.queue import Job, Queue
from foliot.doors.beat.registry import Registry
from foliot.doors.beat.schedule import Schedule, ScheduleState
from foliot.doors.beat.scheduler import CronScheduler

if TYPE_CHECKING:
    from foliot.observability.beat_metrics import BeatMetrics

__all__ = [  # noqa: RUF022 - grouped by what they are for
    "CronScheduler",
    "Registry",
    "Schedule",
    "ScheduleState",
    "DistributedLock",
    # queues
    "CeleryQueue",
    "Job",
    "Queue",
    # metrics
    "BeatMetrics",
    # errors
    "BeatError",
    "DuplicateScheduleError",
    "InvalidScheduleError",
    "LockError",
]

# Celery is an extra, and the client of Prometheus is for those who want metrics.
_LATER = {
    "BeatMetrics": "foliot.observability.beat_metrics",
    "CeleryQueue": "foliot.doors.beat.celery_queue",
}


def __getattr__(name: str) -> Any:
    """Import parts that need another package when they are first used."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - as above

    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value
