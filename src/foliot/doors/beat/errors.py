"""The errors of the beat door. Their texts begin as those of the document do; tests pin them.

FoliotError
└── BeatError                    something cannot be done: the message says what and why
    ├── InvalidScheduleError     a schedule has a field that cannot be right
    ├── DuplicateScheduleError   there is a schedule of that id already
    └── LockError                Redis did not answer, or refused to
"""

from __future__ import annotations

from foliot.errors import FoliotError, shorten


class BeatError(FoliotError):
    """Something of the beat door went wrong."""


class InvalidScheduleError(BeatError, ValueError):
    """A schedule cannot be registered as it is."""

    def __init__(self, field: str, value: object, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"invalid schedule: {reason}",
            details={"field": field, "value": shorten(value), "reason": reason},
            hint=hint,
        )


class DuplicateScheduleError(BeatError, ValueError):
    """Two schedules cannot have one id."""

    def __init__(self, id: str) -> None:  # noqa: A002 - the field's name
        super().__init__(
            f"schedule with ID {shorten(id)} already exists",
            details={"id": id},
            hint="choose another id, or change the schedule that is there",
        )


class LockError(BeatError):
    """A lock can be neither had nor refused: the server did not say."""

    def __init__(self, deed: str, key: str, cause: Exception) -> None:
        super().__init__(f"failed to {deed} lock: {cause}", details={"key": key, "cause": str(cause)})
