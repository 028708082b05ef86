"""What a due schedule becomes: a job, and the queue that takes it."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Job:
    """What a queue gets. `id` is the same for every try of one occurrence: use it to drop a second one."""

    id: str
    name: str
    payload: bytes
    priority: str
    metadata: Mapping[str, str]


class Queue(Protocol):
    """Takes jobs. A plain method is called in a thread, an `async` one on the program's loop.

    A queue may also have `check(schedule)`, which refuses a schedule before anything starts, and `close()`,
    which is called after the last job.
    """

    def enqueue(self, job: Job) -> Awaitable[None] | None:
        """Put a job into the queue. It is in there when this returns; what it raises is tried again."""
        ...
