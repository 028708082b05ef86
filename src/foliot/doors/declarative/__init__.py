"""The declarative scheduler: say what should be scheduled, and `initialize` makes it so.

    scheduler = Scheduler("sqlite:///tasks.db")
    await scheduler.initialize([(name, cron, callback, retry_delay), ...])
    await scheduler.stop()

A registration becomes a job of the scheduler's namespace, with the policies of `presets.DECLARATIVE`: strict
POSIX cron in the host's zone, one run for all that was missed, one at a time, retries for ever until the next
occurrence takes their place. All of them are reconciled with the store in one atomic step.

Invariants: whatever is wrong with the registrations is raised before anything is stored; a start that fails
leaves nothing behind; persisted state that cannot be read is never overwritten; after `stop` has returned no
callback runs. Failure of the process: its callbacks are found orphaned by the next start, and restarted.
"""

from foliot.doors.declarative.errors import (
    InvalidRegistrationError,
    NegativeRetryDelayError,
    RegistrationShapeError,
    RegistrationsNotArrayError,
    ScheduleDuplicateTaskError,
    SchedulerAlreadyActiveError,
    SchedulerInitializationError,
    TaskInvalidStructureError,
    TaskInvalidTypeError,
    TaskInvalidValueError,
    TaskMissingFieldError,
    TaskTryDeserializeError,
)
from foliot.doors.declarative.event import (
    PollingStarted,
    PollingStopped,
    PollingStopRequested,
    SchedulerEvent,
    SchedulerInitializationCompleted,
    SchedulerInitializationFailed,
    SchedulerInitializationStarted,
    SchedulerStopped,
    SchedulerStopRequested,
    TaskEvent,
    TaskRetryPreempted,
    TaskRetryStarted,
    TaskRunCompleted,
    TaskRunFailed,
    TaskRunStarted,
)
from foliot.doors.declarative.scheduler import Scheduler
from foliot.doors.declarative.task import Task, TaskState, read_tasks

__all__ = [  # noqa: RUF022 - grouped by what they are for
    # what users call
    "Scheduler",
    "Task",
    "TaskState",
    "read_tasks",
    # events
    "PollingStarted",
    "PollingStopRequested",
    "PollingStopped",
    "SchedulerEvent",
    "SchedulerInitializationCompleted",
    "SchedulerInitializationFailed",
    "SchedulerInitializationStarted",
    "SchedulerStopRequested",
    "SchedulerStopped",
    "TaskEvent",
    "TaskRetryPreempted",
    "TaskRetryStarted",
    "TaskRunCompleted",
    "TaskRunFailed",
    "TaskRunStarted",
    # errors
    "InvalidRegistrationError",
    "NegativeRetryDelayError",
    "RegistrationShapeError",
    "RegistrationsNotArrayError",
    "ScheduleDuplicateTaskError",
    "SchedulerAlreadyActiveError",
    "SchedulerInitializationError",
    "TaskInvalidStructureError",
    "TaskInvalidTypeError",
    "TaskInvalidValueError",
    "TaskMissingFieldError",
    "TaskTryDeserializeError",
]
