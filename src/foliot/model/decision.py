"""Decisions: what to write, and why."""

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
    FAILED_FOR_GOOD = "failed_for_good"  # its run is over without success, and not by request
    SKIPPED = "skipped"
    RETRY_PLANNED = "retry_planned"
    RETRY_PREEMPTED = "retry_preempted"
    RESTART_PLANNED = "restart_planned"
    CANCEL_ASKED = "cancel_asked"
    REQUESTED = "requested"
    PAUSED = "paused"
    RESUMED = "resumed"
    FINISHED = "finished"  # no occurrence is left
    CLOCK_SET_BACK = "clock_set_back"  # by hours: the job continues from now
    SET_ASIDE = "set_aside"  # its record cannot be read, or the planner raised
    PASSED_OVER = "passed_over"  # this node does not understand its definition; another node may


class Event(NamedTuple):
    """Something that was decided, with a reason for people."""

    what: Happening
    job: str
    at: datetime
    reason: str
    run_key: str | None = None
    number: int = 0
    attempt: Attempt | None = None  # the attempt that the event is about, if any
    offset: timedelta | None = None  # the splay's delay of a start, if any
    ping: str | None = None  # the channel that pings the start, if any


def set_aside(job: str, at: datetime, damage: object) -> Event:
    """The event of a job that is set aside until it is declared again."""
    return Event(Happening.SET_ASIDE, job, at, str(damage))


class Decision(NamedTuple):
    """What to write for one job, in one transaction.

    `attempts` are those that are new or have changed, ended ones included; `state` is the state as it
    was, the same object, if nothing about it changes. `remove`: delete the job. `job`: the
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
        """Whether there is nothing to write: a claim then passes the job over."""
        return self.state is record.state and not (self.attempts or self.skips or self.remove or self.job)
