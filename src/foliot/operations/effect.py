"""The effect of a command on a job, as a value: the same for a real command and for a dry run."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from foliot.engine.draft import Draft
from foliot.model.attempt import Attempt, AttemptState, format_instant
from foliot.model.decision import Decision
from foliot.model.state import Record, Skip

# The words for a command that is done, that would be done, and that was done before.
_WORDS = {
    "pause": ("is paused", "would be paused", "was paused already"),
    "resume": ("runs again", "would run again", "was not paused"),
    "request": ("is requested", "would be requested", "was requested before, and counts once"),
    "end": ("is asked to end", "would be asked to end", "is asked to end"),
    "drop": ("will not start", "would not start", "will not start"),
    "declare": ("is declared", "would be declared", "is declared so already"),
    "remove": ("is removed", "would be removed", "was removed already"),
}


class Start(NamedTuple):
    """An attempt that may start, and when. None: after an open run of its job has ended."""

    run: str
    number: int
    at: datetime | None
    reason: str


class Effect(NamedTuple):
    """What a command did to a job at an instant; if `is_dry_run`, what it would have done.

    `attempt`: the attempt of the command, afterwards; a backfill has `runs` instead. `starts`: attempts that
    the command opened or released. `drops`: runs with an attempt that will never start. `cancels`: runs that
    are asked to end. `skips`: occurrences that do not run. `reason`: the reason of a pause, or which
    occurrences a backfill chose.
    """

    command: str
    job: str
    at: datetime
    is_dry_run: bool
    has_changed: bool
    next_at: datetime | None = None
    paused_at: datetime | None = None
    attempt: Attempt | None = None
    runs: tuple[str, ...] = ()
    starts: tuple[Start, ...] = ()
    drops: tuple[str, ...] = ()
    cancels: tuple[str, ...] = ()
    skips: tuple[Skip, ...] = ()
    reason: str = ""
    paused_until: datetime | None = None

    @property
    def run(self) -> str:
        """The run of the command; the job, if the command concerns no run."""
        return self.job if self.attempt is None else self.attempt.run_key

    @property
    def is_served(self) -> bool:
        """Whether a request was made before, and its run has ended."""
        is_request = self.command in ("trigger", "rerun")
        return is_request and self.attempt is not None and not self.attempt.is_open

    @property
    def text(self) -> str:
        """The effect, in a sentence."""
        if self.command == "backfill":
            if not self.runs:
                none = {"missed": "was missed in that time", "failed": "failed in that time"}
                return f"no occurrence {none.get(self.reason, 'lies in that time')}"
            return f"{len(self.runs)} would run" if self.is_dry_run else f"requested: {len(self.runs)}"
        done, would, before = _WORDS[self._deed]
        words = before if not self.has_changed else would if self.is_dry_run else done
        if not self.has_changed:
            return f"{self.run} {words}"
        until = f" until {format_instant(self.paused_until)}" if self.paused_until else ""
        return f"{self.run} {words}{until}" + (f": {self.reason}" if self.reason else "")

    @property
    def _deed(self) -> str:
        if self.command != "cancel":
            return self.command if self.command in _WORDS else "request"
        return "drop" if self.attempt is None or not self.attempt.is_open else "end"

    @property
    def consequences(self) -> tuple[str, ...]:
        """The consequences, each in a sentence."""
        found = [_start_words(start, self.at) for start in self.starts]
        found += [f"{run} will not start" for run in self.drops if run != self.run]
        found += [f"{run} is asked to end" for run in self.cancels if run != self.run]
        found += map(_skip_words, self.skips)
        if self.has_changed and self.command in ("pause", "resume"):
            following = "no occurrence is left"
            if self.next_at is not None:
                fate = "would be next, and passes" if self.command == "pause" else "is next"
                following = f"{format_instant(self.next_at)} {fate}"
            found.append(following)
        return tuple(found)


def effect_of(command: str, record: Record, decision: Decision, at: datetime, *, is_dry_run: bool) -> Effect:
    """The effect of a decision about a record."""
    known = {attempt.key for attempt in record.attempts}
    changed = decision.attempts
    opened = [a for a in changed if a.key not in known]
    return Effect(
        command,
        record.job.key,
        at,
        is_dry_run,
        has_changed=bool(decision.events),
        next_at=decision.state.next_at,
        paused_at=decision.state.paused_at,
        runs=tuple(attempt.run_key for attempt in opened),
        starts=_starts(record, decision, at),
        drops=tuple(attempt.run_key for attempt in changed if not attempt.is_open),
        cancels=tuple(a.run_key for a in changed if a.state is AttemptState.CANCELLING),
        skips=decision.skips,
        paused_until=decision.state.paused_until if command == "pause" else None,
    )


def _starts(record: Record, decision: Decision, at: datetime) -> tuple[Start, ...]:
    """The attempts that may start now, in the planner's order, and those that wait for a place."""
    changed = {attempt.key: attempt for attempt in decision.attempts}
    after = {attempt.key: attempt for attempt in record.attempts} | changed
    draft = Draft(Record(record.job, decision.state, tuple(after.values())), at)
    ready = sorted(
        (a for a in draft.open.values() if a.wake_at is not None), key=lambda a: (a.wake_at, a.scheduled_for)
    )
    in_time = {attempt.key for attempt in ready[: draft.places]} if draft.is_free else set()
    return tuple(
        Start(*attempt.key, attempt.wake_at if attempt.key in in_time else None, attempt.reason)
        for attempt in ready
        if attempt.key in changed
    )


def _start_words(start: Start, now: datetime) -> str:
    if start.at is None:
        return f"{start.run} starts when a run that is open has ended"
    return f"{start.run} starts {'now' if start.at <= now else f'at {format_instant(start.at)}'}"


def _skip_words(skip: Skip) -> str:
    if skip.first == skip.last:
        return f"{format_instant(skip.first)} is skipped: {skip.reason}"
    return f"all from {format_instant(skip.first)} to {format_instant(skip.last)} are skipped: {skip.reason}"
