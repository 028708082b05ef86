"""The errors of this door.

FoliotError
├── InvalidConfigError     a scheduler or a store cannot be made of these options
├── BadDocumentError       a field of a document cannot be understood
└── LockLostError          a job was not ours any more when we wanted to write: nothing was written

`JobNotFoundError` and `StoreUnavailableError` are those of `foliot.errors`.
"""

from __future__ import annotations

from foliot.doors.documents.job import Job
from foliot.errors import FoliotError, shorten


class InvalidConfigError(FoliotError, ValueError):
    """An option cannot be right."""

    def __init__(self, option: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{option} {reason}", details={"option": option, "reason": reason}, hint=hint)


class BadDocumentError(FoliotError, ValueError):
    """A field of a document cannot be understood. What then happens to the document stands in the reason."""

    def __init__(self, id: object, field: str, value: object, reason: str) -> None:  # noqa: A002 - the seed's word
        super().__init__(
            f"document {shorten(id)}: {' '.join(filter(None, (field, shorten(value), reason)))}",
            details={"id": id, "field": field, "reason": reason},
        )


class LockLostError(FoliotError):
    """A job was not ours any more. `why`: "expired", "changed" or "gone"."""

    def __init__(self, job: Job, why: str) -> None:
        super().__init__(
            f"document {shorten(job.id)}: {_SENTENCES[why]}; nothing was written", details={"why": why}
        )
        self.job = job
        self.why = why


_SENTENCES = {
    "expired": "its lock has ended before its work, so another worker may have run it",
    "changed": "another program changed its time while it ran",
    "gone": "it was deleted while it ran",
}
