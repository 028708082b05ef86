"""Attempts: tries at a run, their states, and the table of what may follow what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from foliot.errors import IllegalTransitionError


class Trigger(StrEnum):
    """Why an attempt exists."""

    SCHEDULE = "schedule"
    CATCH_UP = "catch_up"
    RETRY = "retry"
    LOST = "lost"
    MANUAL = "manual"
    BACKFILL = "backfill"
    AFTER = "after"
    REBOOT = "reboot"


class AttemptState(StrEnum):
    """Where an attempt stands. All but ENDED are open."""

    PENDING = "pending"
    RUNNING = "running"
    CANCELLING = "cancelling"
    ENDED = "ended"


class Outcome(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    LOST = "lost"


# The state machine, whole. The documentation draws it from here.
TRANSITIONS: dict[AttemptState, dict[AttemptState, str]] = {
    AttemptState.PENDING: {
        AttemptState.RUNNING: "a node claims it",
        AttemptState.ENDED: "it is cancelled, or a newer occurrence takes its place",
    },
    AttemptState.RUNNING: {
        AttemptState.CANCELLING: "a person, or the next occurrence under `replace`, asks it to end",
        AttemptState.ENDED: "it succeeds, fails, times out, is interrupted, or its node is buried",
    },
    AttemptState.CANCELLING: {
        AttemptState.ENDED: "it has ended, or its node is buried",
    },
    AttemptState.ENDED: {},
}


class Attempt(NamedTuple):
    """One try at a run: one stored row.

    A run is named by its job and either the occurrence or the request that it answers; all its
    attempts share that key. `covers_from` is the first of several missed occurrences that this one
    run stands for. `wake_at` is when a pending attempt may start; None: when its job is free.
    `retries` is how often the run had been tried again up to this attempt, because it failed; `losses` is
    how many attempts in a row, just before this one, took their nodes along. `exit_code` is that of the
    process that carried it out, if one did; negative: the signal that ended it, as in `subprocess`.
    `version` is that of the definition under which it started; 0: it has not, or an older program started it.
    `payload` is what was given with the request, as the text of a JSON object; all attempts of a run have it.
    """

    job: str
    number: int
    trigger: Trigger
    state: AttemptState
    scheduled_for: datetime
    request: str | None = None
    covers_from: datetime | None = None
    wake_at: datetime | None = None
    node: str | None = None
    token: int = 0
    claimed_at: datetime | None = None
    deadline_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    outcome: Outcome | None = None
    error: str | None = None
    reason: str = ""
    retries: int = 0
    losses: int = 0
    exit_code: int | None = None
    version: int = 0
    payload: str | None = None

    @property
    def run_key(self) -> str:
        """The name of the run; the job gets it as its idempotency key."""
        return run_key(self.job, self.scheduled_for, self.request)

    @property
    def key(self) -> tuple[str, int]:
        """What no two attempts share."""
        return self.run_key, self.number

    @property
    def is_open(self) -> bool:
        return self.state is not AttemptState.ENDED

    @property
    def is_running(self) -> bool:
        """Whether a node holds it."""
        return self.state is AttemptState.RUNNING or self.state is AttemptState.CANCELLING


class Ending(NamedTuple):
    """What a node reports of an attempt that it held.

    `run` is the run as its store gave it, if the store finds the attempt by it. `has_output`: it wrote
    something. `is_final`: no retry follows. `retry_after`: how long a retry waits at least.
    """

    job: str
    run_key: str
    number: int
    token: int
    outcome: Outcome
    started_at: datetime | None
    finished_at: datetime
    error: str | None = None
    exit_code: int | None = None
    run: object | None = None
    has_output: bool = False
    is_final: bool = False
    retry_after: timedelta | None = None


class Refused(NamedTuple):
    """An ending that did not count now: its attempt is no longer open under that node and token."""

    ending: Ending
    reason: str


def run_key(job: str, scheduled_for: datetime, request: str | None) -> str:
    """`source/name@2026-11-15T07:00:00Z`, or `source/name!request` for what a person asked for."""
    if request is not None:
        return f"{job}!{request}"
    return f"{job}@{format_instant(scheduled_for)}"


def format_instant(instant: datetime) -> str:
    """An instant in UTC, to the second unless it has a fraction."""
    return _format_utc(instant if instant.tzinfo is UTC else instant.astimezone(UTC))


@lru_cache(maxsize=4096)  # a herd shares its instants, and every run asks several times
def _format_utc(instant: datetime) -> str:
    return instant.isoformat()[:-6] + "Z"


def check_transition(before: AttemptState, after: AttemptState) -> None:
    """Refuse what the table does not allow."""
    if after not in TRANSITIONS[before]:
        raise IllegalTransitionError(before, after)
