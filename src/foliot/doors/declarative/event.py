"""What can be observed: the named events of the scheduler, of its polling, and of its tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.decision import Event, Happening

_NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerEvent:
    """Something that happened, when, and in which scheduler: the identifier of that object."""

    scheduler: str
    at: datetime

    @property
    def name(self) -> str:
        """The event's name in the document."""
        return type(self).__name__


class SchedulerInitializationStarted(SchedulerEvent):
    """`initialize` begins its work."""

    __slots__ = ()


class SchedulerInitializationCompleted(SchedulerEvent):
    """All tasks are scheduled; the scheduler is running."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerInitializationFailed(SchedulerEvent):
    """`initialize` raises this error, and nothing is left behind."""

    error: BaseException


class SchedulerStopRequested(SchedulerEvent):
    """`stop` was called."""

    __slots__ = ()


class SchedulerStopped(SchedulerEvent):
    """Nothing runs any more."""

    __slots__ = ()


class PollingStarted(SchedulerEvent):
    """Tasks are looked after from here on."""

    __slots__ = ()


class PollingStopRequested(SchedulerEvent):
    """No more callbacks are started; those that run may end."""

    __slots__ = ()


class PollingStopped(SchedulerEvent):
    """The last callback has ended."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvent(SchedulerEvent):
    """Something that happened to one attempt of a task."""

    task: str
    run_key: str
    attempt: int
    scheduled_for: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRunStarted(TaskEvent):
    """The callback is called for an occurrence, or restarted as an orphan; so much after its minute began."""

    lateness: timedelta


class TaskRunCompleted(TaskEvent):
    """The callback returned."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRunFailed(TaskEvent):
    """The callback raised."""

    error: str | None
    pending_retry_until: datetime | None


class TaskRetryStarted(TaskEvent):
    """The callback is called again because the retry delay is over."""

    __slots__ = ()


class TaskRetryPreempted(TaskEvent):
    """A new occurrence takes the place of a retry. Its TaskRunStarted follows."""

    __slots__ = ()


class Translator:
    """What the engine tells, in the document's words. What the document has no word for is left out."""

    def __init__(self, scheduler: str, namespace: str, escaped: Mapping[str, str]) -> None:
        self._scheduler = scheduler
        self._prefix = f"{namespace}/"
        self._escaped = escaped  # tasks by the names of their jobs, where those differ

    def translate(self, events: Sequence[Event]) -> Iterator[TaskEvent]:
        retries = {e.run_key: e.attempt for e in events if e.what is Happening.RETRY_PLANNED}
        given_up: set[str | None] = set()  # runs whose node died: what is pre-empted is no retry
        for event in events:
            attempt = event.attempt
            if attempt is None or not event.job.startswith(self._prefix):
                continue
            if event.what is Happening.STARTED:
                yield self._started(event, attempt)
            elif event.what is Happening.ENDED and attempt.outcome is Outcome.SUCCEEDED:
                yield self._make(TaskRunCompleted, event, attempt)
            elif event.what is Happening.ENDED and attempt.outcome in (Outcome.FAILED, Outcome.TIMED_OUT):
                yield self._failed(event, attempt, retries.get(event.run_key))
            elif event.what is Happening.ENDED and attempt.outcome in (Outcome.LOST, Outcome.INTERRUPTED):
                given_up.add(event.run_key)
            elif event.what is Happening.RETRY_PREEMPTED and not _is_restart(attempt, given_up):
                yield self._make(TaskRetryPreempted, event, attempt)

    def _started(self, event: Event, attempt: Attempt) -> TaskEvent:
        if attempt.trigger is Trigger.RETRY:
            return self._make(TaskRetryStarted, event, attempt)
        lateness = max(_NO_TIME, event.at - attempt.scheduled_for)
        return self._make(TaskRunStarted, event, attempt, lateness=lateness)

    def _failed(self, event: Event, attempt: Attempt, retry: Attempt | None) -> TaskEvent:
        until = None if retry is None else retry.wake_at
        return self._make(TaskRunFailed, event, attempt, error=attempt.error, pending_retry_until=until)

    def _make(self, kind: type[TaskEvent], event: Event, attempt: Attempt, **facts: object) -> TaskEvent:
        name = event.job.removeprefix(self._prefix)
        return kind(
            scheduler=self._scheduler,
            at=event.at,
            task=self._escaped.get(name, name),
            run_key=attempt.run_key,
            attempt=attempt.number,
            scheduled_for=attempt.scheduled_for,
            **facts,
        )


def _is_restart(attempt: Attempt, given_up: set[str | None]) -> bool:
    """Whether what was pre-empted is not a retry after a failure, but a restart after a loss."""
    is_pending_restart = attempt.state is AttemptState.PENDING and attempt.trigger is Trigger.LOST
    return is_pending_restart or attempt.run_key in given_up
