"""One decision for a whole herd: jobs that are alike, and whose occurrence has come at the same time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.decision import Decision, Event, Happening
from foliot.model.state import State

ON_TIME = "its occurrence has come"
_SCHEDULE, _RUNNING = Trigger.SCHEDULE, AttemptState.RUNNING


class AlikeNew(NamedTuple):
    """What happens to every new job of one definition: they share a state, and are told of in the same words.

    Jobs are of one definition if they differ in nothing but their names and the data of their actions.
    """

    state: State
    at: datetime
    reason: str

    def event(self, job: str) -> Event:
        """What is told of one of them."""
        return Event(Happening.DECLARED, job, self.at, self.reason)

    def decision(self, job: str) -> Decision:
        """The decision about one of them."""
        return Decision(self.state, events=(self.event(job),))


class Alike(NamedTuple):
    """What happens to every plain record of one definition whose next occurrence is `first`.

    A claim that looks at such a record no later than `until` starts a run of `first`, and the record goes on
    to `following`. `ends_in_peace`: if nothing else was decided about the job since that run started, its
    success changes only the attempt.
    """

    first: datetime
    following: datetime | None
    until: datetime
    timeout: timedelta | None
    ends_in_peace: bool

    def attempt(self, job: str, token: int, version: int, node: str, now: datetime) -> Attempt:
        """The attempt that starts for one member of the herd."""
        # By places: a call with names would cost as much as all else that a run costs here.
        return tuple.__new__(Attempt, (
            job, 1, _SCHEDULE, _RUNNING, self.first, None, None, None, node, token, now, self.deadline(now),
            None, None, None, None, ON_TIME, 0, 0, None, version, None,
        ))  # fmt: skip

    def deadline(self, now: datetime) -> datetime | None:
        """When a run that starts now must have ended."""
        return None if self.timeout is None else now + self.timeout
