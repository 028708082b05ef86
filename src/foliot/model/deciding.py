"""The functions that a store calls while it holds a job: pure, each returns what to write."""

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
    """A `DecideDue` that can also decide about all equal jobs at once.

    A store need not use that: one by one, the decisions are the same.
    """

    def __call__(self, record: Record, now: datetime, node: str, most: int, /) -> Decision:
        """What happens to one job."""
        ...

    def alike(self, job: Job, first: datetime) -> Alike | None:
        """The decision for all plain records of jobs like this one; None: decide about each."""
        ...


@runtime_checkable
class DecidesNewAlike(Protocol):
    """A `DecideDeclared` that can also decide about all equal new jobs at once.

    A store need not use that: one by one, the decisions are the same.
    """

    def __call__(self, job: Job, record: Record | None, /) -> Decision:
        """What happens to one job."""
        ...

    def new(self, job: Job) -> AlikeNew | None:
        """The decision for all new jobs like this one; None: decide about each."""
        ...
