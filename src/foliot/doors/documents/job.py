"""The words of this door: a job as a document, what is changed in it, and what a store must do.

A store needs three verbs (`JobStore`). Two more protocols are there for stores that can do more: one that can
prove and keep a lock (`FencedStore`), and one whose clock decides (`TimedStore`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from foliot.schedules.schedule import check_aware, since_epoch

MILLISECOND = timedelta(milliseconds=1)


class Leave(Enum):
    """A field that an update does not touch."""

    LEAVE = "leave"

    def __repr__(self) -> str:
        return self.name


LEAVE: Literal[Leave.LEAVE] = Leave.LEAVE
Left: TypeAlias = Literal[Leave.LEAVE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A document with a time in it: what it was before `lock_next` locked it.

    `data` is the whole document. `token` is a number for fences of your own: of two workers that had the
    same job one after the other, the second has the greater one.
    """

    id: Any
    sleep_until: datetime | None = None
    interval: str | None = None
    repeat_until: datetime | None = None
    auto_remove: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)
    token: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUpdate:
    """What to change in a document: each field is left alone, or gets a value. `None` is a value: no time."""

    sleep_until: datetime | Left | None = LEAVE
    auto_remove: bool | Left = LEAVE

    def __post_init__(self) -> None:
        if self.sleep_until is not LEAVE and self.sleep_until is not None:
            check_aware(self.sleep_until)


class Settled(Enum):
    """What became of the last write about a job.

    DONE: it was written. CHANGED: the lock is still ours, but a person has edited the job's own fields; read
    it again and decide again. LOST: the lock is not ours any more; nothing was written.
    """

    DONE = "done"
    CHANGED = "changed"
    LOST = "lost"


@runtime_checkable
class JobStore(Protocol):
    """Where documents are: all that a store of your own must do."""

    async def lock_next(self, lock_until: datetime) -> Job | None:
        """Find a job whose `sleep_until` is not after now, and set it to `lock_until`, in one atomic step.

        Returns the job as it was before; None if no job is due. A job without a time is never due.
        """
        ...

    async def update(self, id: Any, updates: JobUpdate) -> None:  # noqa: A002 - the seed's word
        """Change the fields of a job that the update names. JobNotFoundError if there is no such job."""
        ...

    async def remove(self, id: Any) -> None:  # noqa: A002 - the seed's word
        """Delete a job. Nothing happens if it is not there."""
        ...


@runtime_checkable
class FencedStore(JobStore, Protocol):
    """A store in which a worker can prove that a lock is its own: the lock's value is the fence.

    A worker that takes a job writes a time that is later than the one it found. So the value that it wrote,
    `held`, tells that no other worker has taken the job since.
    """

    async def get(self, id: Any) -> Job | None:  # noqa: A002 - the seed's word
        """A job as it is now; None if it is not there."""
        ...

    async def renew(self, job: Job, held: datetime, until: datetime) -> bool:
        """Write `until` if `held` is still there; whether it was."""
        ...

    async def settle(self, job: Job, held: datetime, updates: JobUpdate | None) -> Settled:
        """Write the updates, or remove the job (None), if `held` and the job's own fields are as they were.

        The same call again answers DONE, if the first one took effect.
        """
        ...


@runtime_checkable
class TimedStore(Protocol):
    """A store whose clock decides what is due and when a lock ends."""

    async def now(self) -> datetime:
        """The store's time."""
        ...


def floor_ms(instant: datetime) -> datetime:
    """An instant without what is smaller than a millisecond: for locks, which then end no later."""
    return instant.astimezone(UTC).replace(microsecond=instant.microsecond // 1000 * 1000)


def ceil_ms(instant: datetime) -> datetime:
    """The next full millisecond: for times to come, which are then never too early."""
    floored = floor_ms(instant)
    return floored if floored.microsecond == instant.microsecond else floored + MILLISECOND


def milliseconds(instant: datetime) -> int:
    """Whole milliseconds since 1970."""
    return since_epoch(instant) // MILLISECOND
