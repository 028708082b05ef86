"""The planner's answers to people: run it now, pause, resume, cancel, fill in what was missed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from foliot.engine.calendar import due_window, next_occurrence
from foliot.engine.draft import Draft
from foliot.errors import CommandRefusedError
from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.decision import Decision, Happening
from foliot.model.job import EARLIEST, Job
from foliot.model.policy import MOST_OPEN
from foliot.model.state import Record

MOST_BACKFILLED = 1000
ASKED = "asked for by a person"


@dataclass(frozen=True, slots=True)
class RunNow:
    """Run it once, now, whatever its schedule says. The same request counts once.

    `payload`: the text of a JSON object, for the run to work with.
    """

    request: str
    reason: str = ASKED
    payload: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Let occurrences pass without a run, until resumed. Requests still run. The state keeps the reason."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resume:
    """Let occurrences count again, from now on."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """End a run: one that is pending never starts, one that is running is asked to stop."""

    run_key: str


@dataclass(frozen=True, slots=True)
class Backfill:
    """Run occurrences of the past. `ran` names those that have run, with their last attempt's number.

    One that has run needs `rerun`: it is then tried again under its own key. `only`: run just these of them,
    whether they have run or not, and leave alone what is open.
    """

    first: datetime
    last: datetime
    ran: Mapping[datetime, int] = field(default_factory=dict)
    rerun: bool = False
    only: frozenset[datetime] | None = None


@dataclass(frozen=True, slots=True)
class Mute:
    """Tell no channel about the job until then. What still goes on then is told."""

    until: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Unmute:
    """Tell channels again, at once what goes on."""


@dataclass(frozen=True, slots=True)
class Look:
    """See whether there is something to tell: for a job that no node serves, so that no claim looks at it."""


Command = RunNow | Pause | Resume | Cancel | Backfill | Mute | Unmute | Look


def plan_command(record: Record, command: Command, now: datetime) -> Decision:
    """A person asks for something."""
    if record.state.removed_at is not None:
        raise CommandRefusedError(record.job.key, "the job was removed")
    draft = Draft(record, now)
    match command:
        case RunNow():
            _request(draft, command)
        case Pause():
            _pause(draft, command)
        case Resume():
            _resume(draft)
        case Cancel():
            _cancel(draft, command)
        case Backfill():
            _backfill(draft, command)
        case Mute() | Unmute():
            _mute(draft, command)
    is_about_alerts = isinstance(command, Mute | Unmute | Look)
    if not draft.events and not is_about_alerts:
        return Decision(record.state)  # it is so already
    return draft.decide(looks_at_once=not draft.was_asleep or not draft.is_busy)


def _request(draft: Draft, command: RunNow) -> None:
    if not command.request or not command.request.isprintable() or set(command.request) & set("!@"):
        reason = "a request must be a printable text without ! and @"
        raise CommandRefusedError(draft.job.key, reason, hint="they part the run key from its job")
    if all(attempt.request != command.request for attempt in draft.open.values()):
        _refuse_crowd(draft, 1)
        attempt = Attempt(
            draft.job.key, 1, Trigger.MANUAL, AttemptState.PENDING, draft.now,
            request=command.request, wake_at=draft.now, reason=command.reason, payload=command.payload,
        )  # fmt: skip
        draft.open_attempt(attempt, Happening.REQUESTED)


def _pause(draft: Draft, command: Pause) -> None:
    if draft.state.paused_at is None:
        draft.state = draft.state._replace(paused_at=draft.now, paused_reason=command.reason or None)
        why = f": {command.reason}" if command.reason else ""
        draft.tell(Happening.PAUSED, f"paused by a person{why}")


def _resume(draft: Draft) -> None:
    if draft.state.paused_at is None:
        return
    first = draft.state.next_at
    draft.state = draft.state._replace(paused_at=None, paused_reason=None)
    if draft.job.enabled:
        come = draft.come_until
        if first is not None and first <= come:
            window = due_window(draft.job, first, come)
            draft.skip(window.first, window.last, "the job was paused")
        draft.serve(come, next_occurrence(draft.job, come))
    draft.tell(Happening.RESUMED, "resumed by a person")


def _mute(draft: Draft, command: Mute | Unmute) -> None:
    until, reason = (command.until, command.reason or None) if isinstance(command, Mute) else (None, None)
    watch = draft.state.watch
    if watch is None:
        raise CommandRefusedError(draft.job.key, "the job tells no channel", hint="give it a notify")
    draft.state = draft.state._replace(watch=watch._replace(muted_until=until, muted_reason=reason))


def _cancel(draft: Draft, command: Cancel) -> None:
    found = [a for a in draft.open.values() if a.run_key == command.run_key]
    if not found:
        raise CommandRefusedError(draft.job.key, f"{command.run_key} has no open attempt")
    for attempt in found:
        reason = "cancelled by a person"
        if attempt.state is AttemptState.PENDING:
            draft.drop(attempt, reason)
        elif attempt.state is AttemptState.RUNNING:
            draft.tell(Happening.CANCEL_ASKED, reason, attempt)
            draft.change(attempt, state=AttemptState.CANCELLING, reason=reason)
    draft.release()


def _backfill(draft: Draft, command: Backfill) -> None:
    still_open = {a.scheduled_for for a in draft.open.values() if a.request is None}
    occurrences = _occurrences(draft, command)
    if command.only is not None:
        occurrences = [at for at in occurrences if at in command.only and at not in still_open]
    _refuse_crowd(draft, len(occurrences))
    for occurrence in occurrences:
        number = command.ran.get(occurrence, 0) + 1
        if number > 1 and not command.rerun and command.only is None:
            raise CommandRefusedError(
                draft.job.key,
                f"{occurrence.isoformat()} has run already",
                hint="a rerun runs it again (--rerun)",
            )
        attempt = Attempt(
            draft.job.key, number, Trigger.BACKFILL, AttemptState.PENDING, occurrence,
            wake_at=draft.now, reason="asked for by a person, to fill in the past",
        )  # fmt: skip
        if occurrence in still_open:
            raise CommandRefusedError(draft.job.key, f"{attempt.run_key} is still open")
        draft.open_attempt(attempt, Happening.REQUESTED)


def _refuse_crowd(draft: Draft, count: int) -> None:
    if len(draft.open) + count > MOST_OPEN:
        reason = f"{len(draft.open):,} of its runs are open, and at most {MOST_OPEN:,} may be"
        raise CommandRefusedError(draft.job.key, reason, hint="wait until some have ended, or cancel some")


def _occurrences(draft: Draft, command: Backfill) -> list[datetime]:
    served = draft.state.served_until
    if served is None or command.last > served:
        raise CommandRefusedError(
            draft.job.key, "only what is past can be filled in", hint=f"ask for times up to {served}"
        )
    found = occurrences_between(draft.job, command.first, command.last, MOST_BACKFILLED + 1)
    if len(found) > MOST_BACKFILLED:
        reason = f"more than {MOST_BACKFILLED} occurrences lie in that time"
        raise CommandRefusedError(draft.job.key, reason, hint="ask for a shorter time")
    return found


def occurrences_between(job: Job, first: datetime, last: datetime, most: int) -> list[datetime]:
    """The occurrences of a time, both ends included, at most so many."""
    found: list[datetime] = []
    at = next_occurrence(job, max(first, EARLIEST) - first.resolution)
    while at is not None and at <= last and len(found) < most:
        found.append(at)
        at = next_occurrence(job, at)
    return found
