"""Errors of sending. The executor makes them results of a run; the queue of the beat door raises them.

FoliotError
└── EnqueueError                     a task is not known to be in its queue
    ├── EnqueueRefusedError          ... it is not there: the broker, or Celery, has refused it
    └── EnqueueUnknownError          ... it may be there: the broker has not answered
"""

from __future__ import annotations

from foliot.errors import FoliotError, shorten


class EnqueueError(FoliotError):
    """A task is not known to be in its queue. `label` is what metrics call the reason."""

    label = ""
    is_final = False  # whether a second try would end the same way


class EnqueueRefusedError(EnqueueError):
    """A task was not put into its queue."""

    label = "refused"

    def __init__(self, task: str, reason: object, *, is_final: bool = False) -> None:
        super().__init__(
            f"not enqueued: {shorten(task)}: {told(reason)}", details={"task": task, "reason": told(reason)}
        )
        self.is_final = is_final


class EnqueueUnknownError(EnqueueError):
    """The broker has not answered: it may have the task, or may get it yet."""

    label = "timeout"

    def __init__(self, task: str, reason: object) -> None:
        super().__init__(
            f"unknown whether it is enqueued: {shorten(task)}: {told(reason)}",
            details={"task": task, "reason": told(reason)},
        )


def told(reason: object) -> str:
    """A reason as one short line: a text, or what an error of Celery or a driver says."""
    if not isinstance(reason, BaseException):
        return shorten(reason)
    cause = reason
    while cause.__cause__ is not None:
        cause = cause.__cause__
    text = " ".join(str(cause).split())
    return shorten(f"{type(cause).__name__}: {text}" if text else type(cause).__name__)
