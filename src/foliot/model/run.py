"""Runs as an engine gets them from a claim, and as executors and functions see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol, runtime_checkable

from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.frozen import thaw
from foliot.model.job import Job
from foliot.schedules import Schedule


class Run:
    """One attempt of one job.

    A store may return light runs that make `job` and `attempt` only when they are read: most of a million
    successful runs never need them. The other attributes here are used by each run.
    """

    __slots__ = ("_attempt", "_job", "_key")

    def __init__(self, job: Job, attempt: Attempt) -> None:
        self._job = job
        self._attempt = attempt
        self._key = attempt.key

    @property
    def job(self) -> Job:
        """The definition that it is a run of."""
        return self._job

    @property
    def attempt(self) -> Attempt:
        """The attempt as it was started."""
        return self._attempt

    @property
    def key(self) -> tuple[str, int]:
        """What no two attempts share: the run's key, and the attempt's number."""
        return self._key

    @property
    def claimed_at(self) -> datetime | None:
        """When its node got it."""
        return self.attempt.claimed_at

    @property
    def name(self) -> str:
        """The name of its job, in its source."""
        return self.job.name

    @property
    def schedule(self) -> Schedule:
        """The rule of its job."""
        return self.job.schedule

    @property
    def scheduled_for(self) -> datetime:
        """The occurrence that it is a run of."""
        return self.attempt.scheduled_for

    @property
    def is_requested(self) -> bool:
        """Whether a person has requested it, beside the schedule."""
        return self.attempt.request is not None

    @property
    def queue(self) -> str:
        """The queue of its job."""
        return self.job.queue

    @property
    def kind(self) -> str:
        """The kind of its action."""
        return self.job.action.kind

    @property
    def data(self) -> Mapping[str, Any]:
        """The data of its action."""
        return self.job.action.data

    @property
    def arguments(self) -> dict[str, Any]:
        """The data of its action, as a copy that its owner may change."""
        copy: dict[str, Any] = thaw(self.data)
        return copy

    @property
    def timeout(self) -> timedelta | None:
        """How long it may take."""
        return self.job.policy.timeout

    def ending(
        self,
        outcome: Outcome,
        started_at: datetime | None,
        finished_at: datetime,
        error: str | None = None,
        exit_code: int | None = None,
    ) -> Ending:
        """What its node reports of it."""
        attempt = self.attempt
        (run_key, number), token = self.key, attempt.token
        return Ending(attempt.job, run_key, number, token, outcome, started_at, finished_at, error, exit_code)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.job, self.attempt))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and (self.job, self.attempt) == (other.job, other.attempt)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<Run {self.key[0]}#{self.key[1]}>"


class Result(NamedTuple):
    """How an attempt ended, as its executor saw it; `exit_code` is negative if a signal ended the process.

    `is_final`: no retry follows, because it would fail the same way. `retry_after`: a retry comes no earlier.
    """

    outcome: Outcome
    error: str | None = None
    output: str = ""
    dropped: int = 0
    exit_code: int | None = None
    is_final: bool = False
    retry_after: timedelta | None = None


@runtime_checkable
class LetsGo(Protocol):
    """What asks an attempt to end, of an action that is carried out elsewhere, and needs no node for that."""

    def let_go(self) -> None:
        """The node stops or was declared dead: end the attempt here, but not the action."""
        ...
