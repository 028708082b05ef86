"""The errors of the declarative scheduler's Error Model that are no other door's.

FoliotError
├── RegistrationsNotArrayError       registrations are no list
├── RegistrationShapeError           one of them is not (name, cron, async callback, retry delay)
├── InvalidRegistrationError         ... has the right types, and a value that cannot be right
├── NegativeRetryDelayError          ... wants to be retried before it failed
├── ScheduleDuplicateTaskError       two of them have the same name
├── SchedulerAlreadyActiveError      initialize while initializing or running
├── SchedulerInitializationError     anything unexpected while initializing; `details["cause"]` is what it was
└── TaskTryDeserializeError          a persisted task cannot be read
    ├── TaskMissingFieldError        ... because a field is missing
    ├── TaskInvalidTypeError         ... because a field has the wrong type
    ├── TaskInvalidValueError        ... because a field has an impossible value
    └── TaskInvalidStructureError    ... at all

Those of cron expressions are in `foliot.errors`: CronExpressionInvalidError, InvalidCronExpressionError,
FieldParseError, CronCalculationError. The messages are the document's; tests pin them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from foliot.errors import FoliotError, shorten

_MILLISECOND = timedelta(milliseconds=1)


class RegistrationsNotArrayError(FoliotError, TypeError):
    """The registrations are neither a list nor a tuple."""

    def __init__(self) -> None:
        super().__init__(
            "Registrations must be an array", hint="a list of (name, cron, async callback, retry delay)"
        )


class RegistrationShapeError(FoliotError, TypeError):
    """A registration has the wrong length, or something in it has the wrong type."""

    def __init__(self, registration_index: int, received: object, *, hint: str | None = None) -> None:
        super().__init__(
            "Invalid registration shape: expected [string, string, function, Duration]",
            details={"registration_index": registration_index, "received": received},
            hint=hint,
        )


class InvalidRegistrationError(FoliotError, ValueError):
    """A registration has the right shape, and a value that cannot be right."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(
            f"Invalid registration: {field} {reason}",
            details={"field": field, "value": value, "reason": reason},
        )


class NegativeRetryDelayError(FoliotError, ValueError):
    """A task cannot be retried before it has failed."""

    def __init__(self, retry_delay_ms: float) -> None:
        super().__init__("Retry delay must be non-negative", details={"retry_delay_ms": retry_delay_ms})

    @classmethod
    def of(cls, delay: timedelta) -> NegativeRetryDelayError:
        """The error of a delay."""
        return cls(delay / _MILLISECOND)


class ScheduleDuplicateTaskError(FoliotError, ValueError):
    """Two registrations have the same name."""

    def __init__(self, task_name: str) -> None:
        super().__init__(
            f'Task with name "{shorten(task_name)}" is already scheduled', details={"task_name": task_name}
        )


class SchedulerAlreadyActiveError(FoliotError, RuntimeError):
    """The scheduler is initializing, or running."""

    def __init__(self, current_state: str) -> None:
        super().__init__(
            f"Cannot initialize scheduler: scheduler is already {current_state}",
            details={"current_state": current_state},
            hint="stop it first",
        )


class SchedulerInitializationError(FoliotError):
    """Something unexpected happened while the scheduler was initializing.

    Foreign messages stay in `details["cause"]`: they may hold a URL with its password.
    """

    def __init__(self, step: str, cause: BaseException) -> None:
        told = f": {cause.message}" if isinstance(cause, FoliotError) else ""
        super().__init__(
            f"Cannot initialize scheduler: {step} failed with {type(cause).__name__}{told}",
            details={"step": step, "cause": cause},
            hint=cause.hint if isinstance(cause, FoliotError) else None,
        )


class TaskTryDeserializeError(FoliotError, ValueError):
    """The persisted state of a task cannot be read. Nothing of it is overwritten."""

    def __init__(self, message: str, details: dict[str, Any], task: str) -> None:
        super().__init__(message, details=details, hint=f"repair or remove what is stored of {shorten(task)}")
        self.task = task


class TaskMissingFieldError(TaskTryDeserializeError):
    """A required field is missing."""

    def __init__(self, field: str, *, task: str = "the task") -> None:
        super().__init__(f"Missing required field: {field}", {"field": field}, task)


class TaskInvalidTypeError(TaskTryDeserializeError):
    """A field has the wrong type."""

    def __init__(
        self, field: str, value: object, expected_type: str, actual_type: str, *, task: str = "the task"
    ) -> None:
        super().__init__(
            f"Invalid type for field '{field}': expected {expected_type}, got {actual_type}",
            {"field": field, "value": value, "expected_type": expected_type, "actual_type": actual_type},
            task,
        )


class TaskInvalidValueError(TaskTryDeserializeError):
    """A field has a value that cannot be right."""

    def __init__(self, field: str, value: object, reason: str, *, task: str = "the task") -> None:
        super().__init__(
            f"Invalid value for field '{field}': {reason}",
            {"field": field, "value": value, "reason": reason},
            task,
        )


class TaskInvalidStructureError(TaskTryDeserializeError):
    """What is stored is no task at all."""

    def __init__(self, value: object, reason: str, *, task: str = "the task") -> None:
        super().__init__(f"Invalid task structure: {reason}", {"value": value}, task)
