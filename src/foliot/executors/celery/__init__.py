"""Celery tasks as jobs: Foliot decides when, Celery workers do the work.

    run ──▶ Letter ──▶ Publisher ──▶ Line ──▶ broker ──▶ worker
                         (loop)     (thread)               │ the result backend, if the end counts
    Result ◀───────────────────────────── Results ◀────────┘

The run of a job ends when its task is in the queue, or, with `track="result"`, when the task has ended. The
task of a run has the same id in each attempt, so that its author can tell; a worker runs two messages of one
id twice.

Invariants: a broker that hangs hangs no run longer than the deadline, and never the engine. Nothing is sent
twice behind the back of the job's policy. Read `message`, `line`, `publisher`, `results`, `executor`.
The action's data is checked by `foliot.executors.celery_action`, which needs no Celery.
"""

from __future__ import annotations

from foliot.executors.celery.errors import EnqueueError as EnqueueError
from foliot.executors.celery.errors import EnqueueRefusedError as EnqueueRefusedError
from foliot.executors.celery.errors import EnqueueUnknownError as EnqueueUnknownError
from foliot.executors.celery.executor import CeleryTasks as CeleryTasks
from foliot.executors.celery.find import find_celery_app as find_celery_app
from foliot.executors.celery.message import task_id as task_id
from foliot.executors.celery.once import once_per_run as once_per_run
from foliot.executors.celery_action import celery_task as celery_task
