"""What a store asks while it holds a job: pure functions, each of which says what is to be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from foliot.model.alike import Alike, AlikeNew
from foliot.model.attempt import Ending
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.state import Record

DecideDue = Callable[[Record, datetime, str, int], Decision]  # now, the node, and how many may start
DecideEnded = Callable[[Record, Sequence[Ending], datetime], Decision]  # of attempts that are open
DecideLost = Callable[[Record, Sequence[tuple[str, int]], datetime], Decision]  # run keys and numbers
DecideCommand = Callable[[Record], Decision]
DecideDeclared = Callable[[Job, Record | None], Decision]
DecideRemoved = Callable[[Record], Decision]


@runtime_checkable
class DecidesAlike(Protocol):
    """A `DecideDue` that can also say at once what happens to all jobs that are alike.

    A store need not ask it so: one by one, the answers are the same.
    """

    def __call__(self, record: Record, now: datetime, node: str, most: int, /) -> Decision:
        """What happens to one job."""
        ...

    def alike(self, job: Job, first: datetime) -> Alike | None:
        """What happens to every plain record of jobs like this one; None: each is to be asked about."""
        ...


@runtime_checkable
class DecidesNewAlike(Protocol):
    """A `DecideDeclared` that can also say at once what happens to all new jobs that are alike.

    A store need not ask it so: one by one, the answers are the same.
    """

    def __call__(self, job: Job, record: Record | None, /) -> Decision:
        """What happens to one job."""
        ...

    def new(self, job: Job) -> AlikeNew | None:
        """What happens to every job like this one that is not there yet; None: each is to be asked about."""
        ...
