"""What is stored of a job beside its definition, and the aggregate that every verb works on."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from foliot.model.attempt import Attempt
from foliot.model.job import Job
from foliot.model.watch import Watch

# A clock that is set back by less repeats some times; one that is set back by more was wrong before.
CORRECTION = timedelta(hours=3)

OVERLAP = "a run was still open"  # the reason of a skip; `why` names that run


class Problem(StrEnum):
    """How a run ended for good, or why an occurrence had none, where that was no success."""

    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    LOST = "lost"
    MISSED = "missed"  # no node looked in time
    SKIPPED = "skipped"  # another run was in the way


class SkipCode(StrEnum):
    """Why occurrences did not run, for programs."""

    LATE = "late"
    NEVER_RUN = "never_run"
    TOO_MANY = "too_many"
    OVERTAKEN = "overtaken"
    OVERLAP = "overlap"
    CROWDED = "crowded"
    REPLACED = "replaced"
    PAUSED = "paused"
    CHANGED = "changed"
    SWITCHED_OFF = "switched_off"
    REMOVED = "removed"
    OTHER = "other"


# How the reasons of skips begin, as the planner writes them, and as older ones did.
_CODES = {
    "missed by more than": SkipCode.LATE,
    "missed, and the job had never run": SkipCode.NEVER_RUN,
    "more than ": SkipCode.TOO_MANY,
    "a later occurrence came": SkipCode.OVERTAKEN,
    OVERLAP: SkipCode.OVERLAP,
    "a newer occurrence replaced it": SkipCode.REPLACED,
    "the job was paused": SkipCode.PAUSED,
    "its definition changed": SkipCode.CHANGED,
    "the job was switched off": SkipCode.SWITCHED_OFF,
    "the job was removed": SkipCode.REMOVED,
}
_PROBLEMS = {
    SkipCode.LATE: Problem.MISSED,
    SkipCode.NEVER_RUN: Problem.MISSED,
    SkipCode.TOO_MANY: Problem.MISSED,
    SkipCode.OVERTAKEN: Problem.MISSED,
    SkipCode.OVERLAP: Problem.SKIPPED,
    SkipCode.CROWDED: Problem.SKIPPED,
}


class State(NamedTuple):
    """A job's stored state.

    `wake_at`: when a claim must look at the job; None: never. Only this value makes a job due.
    `served_until`: every occurrence up to here has its run, or is part of a skip.
    `next_at`: the first occurrence that is not served; None: there is none.
    `token`: grows with every write of the state, and is the fence of what is claimed with it. A write that
    only counts a new version leaves it alone.
    `version`: counts the definitions that the job has had. `defined_at`: since when it has this one; None:
    since it was created.
    `failures_in_row`: runs that failed for good. `last_problem`: how the last run ended, or why the last
    occurrence had none, if that was no success: one of `Problem`; None: all is well, or nothing has run yet.
    `watch`: what is remembered for alerts; None: the job has no channel for alerts.
    `paused_until`: when a pause ends by itself; None: it lasts until the job is resumed.
    """

    token: int
    created_at: datetime
    wake_at: datetime | None = None
    served_until: datetime | None = None
    next_at: datetime | None = None
    paused_at: datetime | None = None
    removed_at: datetime | None = None
    fired_count: int = 0
    failures_in_row: int = 0
    last_attempt_at: datetime | None = None
    last_failure_at: datetime | None = None
    last_run: str | None = None
    version: int = 1
    defined_at: datetime | None = None
    paused_reason: str | None = None
    last_problem: str | None = None
    watch: Watch | None = None
    paused_until: datetime | None = None


class Record(NamedTuple):
    """One job's aggregate: definition, state, and its open attempts in the order they were opened.

    A claim also shows attempts that have ended, if their occurrences would come again: see `Store.claim`.
    """

    job: Job
    state: State
    attempts: tuple[Attempt, ...] = ()


class Skip(NamedTuple):
    """A range of occurrences, first to last, that did not run, and why."""

    job: str
    first: datetime
    last: datetime
    reason: str

    @property
    def code(self) -> SkipCode:
        """The reason, for programs."""
        if self.reason.endswith("runs of the job were open, and more may not be"):
            return SkipCode.CROWDED
        found = (code for text, code in _CODES.items() if self.reason.startswith(text))
        return next(found, SkipCode.OTHER)

    @property
    def problem(self) -> Problem | None:
        """What it says of its job, if it is a problem."""
        return _PROBLEMS.get(self.code)


class Node(NamedTuple):
    """One start of an engine process: a fresh id, what it serves, and where it runs.

    `is_draining`: it claims no more, and leaves when what it holds has ended.
    """

    id: str
    name: str = ""
    queues: tuple[str, ...] = ("default",)
    kinds: tuple[str, ...] | None = None  # of actions that it can carry out, see `model.kinds`; None: all
    version: str = ""
    skew: timedelta = timedelta(0)  # of its host's clock against the store's, when it was last worth telling
    host: str = ""  # as its operating system calls it; empty: it has not said
    process: int | None = None  # its number on that host
    is_draining: bool = False
    limits: tuple[tuple[str, int], ...] = ()  # how many attempts of each group may run, over all nodes
    slots: tuple[tuple[str, int], ...] = ()  # attempts of each queue that it runs at once; (): unknown


class Lease(NamedTuple):
    """A node's time-limited life, by the store's clock."""

    store_now: datetime
    until: datetime
    open_count: int
    cancels: tuple[tuple[str, int], ...] = ()  # attempts of the node that are to be cancelled
