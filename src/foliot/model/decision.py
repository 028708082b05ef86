"""Decisions: what the planner says is to be written, and why."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from foliot.model.attempt import Attempt
from foliot.model.job import Job
from foliot.model.outbox import ChannelAlert
from foliot.model.state import Record, Skip, State


class Happening(StrEnum):
    """What an event is about."""

    DECLARED = "declared"
    CHANGED = "changed"
    REMOVED = "removed"
    STARTED = "started"
    WAITS = "waits"
    ENDED = "ended"
    SKIPPED = "skipped"
    RETRY_PLANNED = "retry_planned"
    RETRY_PREEMPTED = "retry_preempted"
    RESTART_PLANNED = "restart_planned"
    CANCEL_ASKED = "cancel_asked"
    REQUESTED = "requested"
    PAUSED = "paused"
    RESUMED = "resumed"
    FINISHED = "finished"  # no occurrence is left
    CLOCK_SET_BACK = "clock_set_back"  # by hours: it goes on from now, not from what it had served
    SET_ASIDE = "set_aside"  # its record cannot be read, or not be decided about
    PASSED_OVER = "passed_over"  # this node does not understand its definition; another node may


class Event(NamedTuple):
    """Something that was decided, with its reason in words a person reads."""

    what: Happening
    job: str
    at: datetime
    reason: str
    run_key: str | None = None
    number: int = 0
    attempt: Attempt | None = None  # as it is now, if it is about one
    offset: timedelta | None = None  # how long after its occurrence an attempt was to start, if not at once
    ping: str | None = None  # the channel that is told of a start, if there is one


def set_aside(job: str, at: datetime, damage: object) -> Event:
    """The event of a job that is taken out of service until it is declared anew."""
    return Event(Happening.SET_ASIDE, job, at, str(damage))


class Decision(NamedTuple):
    """What is to be written for one job, in one step.

    `attempts` are those that are new or have changed, ended ones included; `state` is the state as it
    was, the same object, if nothing about it changes. `remove`: forget the job altogether. `job`: the
    definition to keep, where that is not the one that was declared or is there. `alerts` go into the outbox
    in the same step; they are there only if the state changes, too.
    """

    state: State
    attempts: tuple[Attempt, ...] = ()
    skips: tuple[Skip, ...] = ()
    events: tuple[Event, ...] = ()
    remove: bool = False
    job: Job | None = None
    alerts: tuple[ChannelAlert, ...] = ()

    def is_nothing(self, record: Record) -> bool:
        """Whether there is nothing to be written about this job: a claim then passes it over."""
        return self.state is record.state and not (self.attempts or self.skips or self.remove or self.job)
