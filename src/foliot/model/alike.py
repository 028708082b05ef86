"""One decision for a herd: equal jobs whose occurrence comes at the same time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.decision import Decision, Event, Happening
from foliot.model.state import State

ON_TIME = "its occurrence has come"
_SCHEDULE, _RUNNING = Trigger.SCHEDULE, AttemptState.RUNNING


class AlikeNew(NamedTuple):
    """The decision for all new jobs of one definition: they share a state and a reason.

    Jobs have one definition if only their names and the data of their actions differ.
    """

    state: State
    at: datetime
    reason: str

    def event(self, job: str) -> Event:
        """The event of one of them."""
        return Event(Happening.DECLARED, job, self.at, self.reason)

    def decision(self, job: str) -> Decision:
        """The decision about one of them."""
        return Decision(self.state, events=(self.event(job),))


class Alike(NamedTuple):
    """The decision for all plain records of one definition whose next occurrence is `first`.

    A claim up to `until` starts a run of `first`, and the next occurrence becomes `following`.
    `ends_in_peace`: if nothing else is decided about the job until that run succeeds, its success changes
    only the attempt.
    """

    first: datetime
    following: datetime | None
    until: datetime
    timeout: timedelta | None
    ends_in_peace: bool

    def attempt(self, job: str, token: int, version: int, node: str, now: datetime) -> Attempt:
        """The attempt that starts for one member of the herd."""
        # Positional: keyword arguments would double the cost of a run here.
        return tuple.__new__(Attempt, (
            job, 1, _SCHEDULE, _RUNNING, self.first, None, None, None, node, token, now, self.deadline(now),
            None, None, None, None, ON_TIME, 0, 0, None, version, None,
        ))  # fmt: skip

    def deadline(self, now: datetime) -> datetime | None:
        """When a run that starts now must have ended."""
        return None if self.timeout is None else now + self.timeout
