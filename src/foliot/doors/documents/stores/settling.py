"""How a guarded write tells what became of it: the same for each database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from foliot.doors.documents.fields import own_fields
from foliot.doors.documents.job import Job, JobUpdate, Settled


async def settle_guarded(
    job: Job,
    held: datetime,
    updates: JobUpdate | None,
    *,
    end: Callable[[bool], Awaitable[bool]],
    get: Callable[[object], Awaitable[Job | None]],
) -> Settled:
    """Write by `end` if the lock is ours and nothing was edited; if not, read once, to tell why.

    `end(True)` is guarded by the lock and by the job's own fields, `end(False)` by the lock alone; each tells
    whether it has written.
    """
    if await end(True):  # noqa: FBT003 - as its docstring says
        return Settled.DONE
    found = await get(job.id)
    if found is None:
        return Settled.LOST if updates else Settled.DONE
    if found.sleep_until != held:
        return Settled.DONE if updates and found.sleep_until == updates.sleep_until else Settled.LOST
    if own_fields(found) != own_fields(job):
        return Settled.CHANGED
    # A value that the database compares in another way than we do, such as a path through an array.
    return Settled.DONE if await end(False) else Settled.LOST  # noqa: FBT003 - the same
