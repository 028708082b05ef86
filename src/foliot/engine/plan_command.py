"""The planner's answers to commands of people: run now, pause, resume, cancel, backfill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from foliot.engine.calendar import next_occurrence
from foliot.engine.draft import Draft
from foliot.engine.planner import CROWDED
from foliot.errors import CommandRefusedError
from foliot.model.alert import AlertKind
from foliot.model.attempt import Attempt, AttemptState, Trigger, format_instant
from foliot.model.decision import Decision, Happening
from foliot.model.job import EARLIEST, Job
from foliot.model.policy import MOST_OPEN
from foliot.model.state import Record
from foliot.model.watch import Watch

CANCELLED = "cancelled by a person"
MOST_BACKFILLED = 1000
ASKED = "triggered manually"


@dataclass(frozen=True, slots=True)
class RunNow:
    """Run the job once, now, beside its schedule. The same request counts once.

    `payload`: the text of a JSON object, for this run.
    """

    request: str
    reason: str = ASKED
    payload: str | None = None


@dataclass(frozen=True, slots=True)
class Follow:
    """Run it once because of an event: a boot, or the end of another job's run.

    The same request counts once, even if history has forgotten its run. A job that is paused or switched off
    records a skip instead.
    """

    request: str
    trigger: Trigger
    reason: str
    payload: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Let occurrences pass without a run, until then or until resumed. Requests still run.

    The state keeps the reason. A job that is paused gets the new end, and the new reason if there is one.
    """

    reason: str = ""
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resume:
    """Run occurrences again, from now on."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """End a run: a pending one never starts, a running one is asked to end."""

    run_key: str


@dataclass(frozen=True, slots=True)
class Backfill:
    """Run occurrences of the past. `ran` has those that have run, with the number of their last attempt.

    With `rerun`, occurrences that have run are run again under their own keys. `only`: run just these,
    whether they have run or not, and do not touch open runs.
    """

    first: datetime
    last: datetime
    ran: Mapping[datetime, int] = field(default_factory=dict)
    rerun: bool = False
    only: frozenset[datetime] | None = None


@dataclass(frozen=True, slots=True)
class Mute:
    """Send no alert about the job until then. Trouble that still goes on is sent after that."""

    until: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Unmute:
    """Send alerts again, and at once about trouble that goes on."""


@dataclass(frozen=True, slots=True)
class Look:
    """Check for alerts. Used for a job that no node serves, because no claim looks at it."""


Command = RunNow | Follow | Pause | Resume | Cancel | Backfill | Mute | Unmute | Look


def plan_command(record: Record, command: Command, now: datetime) -> Decision:
    """The decision about a person's command."""
    if record.state.removed_at is not None:
        raise CommandRefusedError(record.job.key, "the job was removed")
    draft = Draft(record, now)
    match command:
        case RunNow():
            _request(draft, command)
        case Follow():
            _follow(draft, command)
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
        return Decision(record.state)  # nothing to change
    return draft.decide(looks_at_once=not draft.was_asleep or not draft.is_busy)


def _request(draft: Draft, command: RunNow) -> None:
    if not command.request or not command.request.isprintable() or set(command.request) & set("!@"):
        reason = "a request must be a printable text without ! and @"
        raise CommandRefusedError(draft.job.key, reason, hint="these characters separate parts of a run key")
    if all(attempt.request != command.request for attempt in draft.open.values()):
        _refuse_crowd(draft, 1)
        attempt = Attempt(
            draft.job.key, 1, Trigger.MANUAL, AttemptState.PENDING, draft.now,
            request=command.request, wake_at=draft.now, reason=command.reason, payload=command.payload,
        )  # fmt: skip
        draft.open_attempt(attempt, Happening.REQUESTED)


def _follow(draft: Draft, command: Follow) -> None:
    draft.end_pause_in_time()
    watch = draft.state.watch or Watch()
    if command.request in (watch.asked or ()):
        return
    draft.state = draft.state._replace(watch=watch.with_asked(command.request))
    if draft.state.paused_at is not None or not draft.job.enabled:
        why = "paused" if draft.state.paused_at is not None else "switched off"
        draft.skip(draft.now, draft.now, f"the job was {why}: {command.reason}")
    elif len(draft.open) >= MOST_OPEN:
        draft.skip(draft.now, draft.now, CROWDED, AlertKind.SKIPPED)
    else:
        attempt = Attempt(
            draft.job.key, 1, command.trigger, AttemptState.PENDING, draft.now,
            request=command.request, wake_at=draft.now, reason=command.reason, payload=command.payload,
        )  # fmt: skip
        draft.open_attempt(attempt, Happening.REQUESTED)


def _pause(draft: Draft, command: Pause) -> None:
    state, until = draft.state, command.until
    if until is not None and until <= draft.now:
        raise CommandRefusedError(draft.job.key, f"{format_instant(until)} is past", hint="name a later time")
    says_nothing_new = state.paused_until == until and command.reason in ("", state.paused_reason)
    if state.paused_at is not None and says_nothing_new:
        return
    draft.state = state._replace(
        paused_at=state.paused_at or draft.now,
        paused_reason=command.reason or state.paused_reason,
        paused_until=until,
    )
    end = f" until {format_instant(until)}" if until is not None else ""
    why = f": {command.reason}" if command.reason else ""
    draft.tell(Happening.PAUSED, f"paused by a person{end}{why}")


def _resume(draft: Draft) -> None:
    if draft.state.paused_at is not None:
        draft.end_pause(draft.come_until, "resumed by a person")


def _mute(draft: Draft, command: Mute | Unmute) -> None:
    until, reason = (command.until, command.reason or None) if isinstance(command, Mute) else (None, None)
    watch = draft.state.watch
    if watch is None:
        raise CommandRefusedError(draft.job.key, "the job has no channel for alerts", hint="give it a notify")
    draft.state = draft.state._replace(watch=watch._replace(muted_until=until, muted_reason=reason))


def _cancel(draft: Draft, command: Cancel) -> None:
    found = [a for a in draft.open.values() if a.run_key == command.run_key]
    if not found:
        raise CommandRefusedError(draft.job.key, f"{command.run_key} has no open attempt")
    for attempt in found:
        reason = CANCELLED
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
            wake_at=draft.now, reason="triggered manually, to fill in the past",
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
            draft.job.key, "only past occurrences can be filled in", hint=f"ask for times up to {served}"
        )
    found = occurrences_between(draft.job, command.first, command.last, MOST_BACKFILLED + 1)
    if len(found) > MOST_BACKFILLED:
        reason = f"more than {MOST_BACKFILLED} occurrences lie in that time"
        raise CommandRefusedError(draft.job.key, reason, hint="ask for a shorter time")
    return found


def occurrences_between(job: Job, first: datetime, last: datetime, most: int) -> list[datetime]:
    """The occurrences of a period, both ends included, at most `most`."""
    found: list[datetime] = []
    at = next_occurrence(job, max(first, EARLIEST) - first.resolution)
    while at is not None and at <= last and len(found) < most:
        found.append(at)
        at = next_occurrence(job, at)
    return found
