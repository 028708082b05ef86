"""A job's life through the pure planner alone (no store, no engine, no clock), and tables of such lives.

A table's row is a script, one event per line, with what must come of it:

    10:00    claim      | start 10:00 schedule; wake 10:01
    10:00:05 fail       | end 10:00 failed; plan 10:00#2 retry at 10:00:15; wake 10:00:15

On the left: a time (of 2 March 2026, UTC, unless it carries its date), an event, and what it is about.
`claim` looks for as long as the job is due, as a store does; `look` looks once, due or not; `show` is
no event: it tells the state; `told` tells what listeners heard since the last `told`. On the right: what
became of attempts (named by occurrence or `!request`, with `#n` from the second on), what was skipped and
why, and when somebody must look next; `removed`: the job has removed itself and is a tombstone; `gone`: it
is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from typing import Any, NamedTuple

from foliot.engine.plan_command import Backfill, Cancel, Command, Pause, Resume, RunNow, plan_command
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.errors import CommandRefusedError
from foliot.model.attempt import Attempt, AttemptState, Ending, Outcome
from foliot.model.decision import Decision
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.model.presets import CODE
from foliot.model.state import Record, Skip
from foliot.schedules import Cron, Schedule

DAY = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday, far from any change of the clocks
NODE = "node-1"
MOST_LOOKS = 200


def make_job(rule: Schedule | str = "* * * * *", policy: Policy = CODE, **fields: Any) -> Job:
    """A job of the source `tests`; a text is a cron expression in UTC."""
    schedule = Cron(rule) if isinstance(rule, str) else rule
    return Job(
        source="tests",
        name="job",
        schedule=schedule,
        action=Action(kind="noop"),
        policy=policy,
        **fields,
    )


def instant(text: str) -> datetime:
    """`10:00`, `10:00:30.5` of the day, or with its date: `2026-03-29T01:00`."""
    if "T" in text:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    return datetime.combine(DAY, time.fromisoformat(text), tzinfo=UTC)


def brief(at: datetime | None) -> str:
    """The shortest text that `instant` reads back."""
    if at is None:
        return "never"
    text = at.astimezone(UTC).replace(tzinfo=None).isoformat().removesuffix(":00")
    return text.removeprefix(f"{DAY:%Y-%m-%d}T")


class Step(NamedTuple):
    """One decision of a life: what was asked, of which record, the answer, and the record after it."""

    what: str
    at: datetime
    job: Job
    before: Record | None
    decision: Decision
    after: Record | None


class Life:
    """One job's record, and all that the planner ever decided about it, written as a store writes it."""

    def __init__(self) -> None:
        self.record: Record | None = None
        self.steps: list[Step] = []
        self.ended: list[Attempt] = []
        self.skips: list[Skip] = []

    # -- what can happen ---------------------------------------------------------------------------

    def declare(self, job: Job, at: datetime) -> None:
        self._write("declare", at, job, plan_declared(job, self.record, at))

    def remove(self, at: datetime) -> None:
        self._write("remove", at, self.there.job, plan_removed(self.there, at))

    def look(self, at: datetime) -> None:
        self._write("look", at, self.there.job, plan_due(self.there, at, NODE))

    def claim(self, at: datetime) -> None:
        """Look for as long as somebody must. A job that is due for ever would starve all others."""
        for _ in range(MOST_LOOKS):
            wake_at = self.record.state.wake_at if self.record else None
            if wake_at is None or wake_at > at:
                return
            self.look(at)
        raise AssertionError(f"still due at {at} after {MOST_LOOKS} looks: {self.there.state}")

    def end(
        self, attempt: Attempt, at: datetime, outcome: Outcome, finished_at: datetime | None = None
    ) -> None:
        error = None if outcome is Outcome.SUCCEEDED else f"it {outcome}"
        ending = Ending(
            attempt.job, attempt.run_key, attempt.number, attempt.token,
            outcome, attempt.claimed_at, finished_at or at, error,
        )  # fmt: skip
        self._write(outcome, at, self.there.job, plan_ended(self.there, [ending], at))

    def lose(self, attempt: Attempt, at: datetime) -> None:
        decision = plan_lost(self.there, [attempt.key], at)
        self._write("lose", at, self.there.job, decision)

    def command(self, command: Command, at: datetime) -> None:
        what = type(command).__name__.lower()
        self._write(what, at, self.there.job, plan_command(self.there, command, at))

    # -- what is there -----------------------------------------------------------------------------

    @property
    def there(self) -> Record:
        assert self.record is not None, "the job is gone"
        return self.record

    @property
    def open(self) -> tuple[Attempt, ...]:
        return self.record.attempts if self.record else ()

    @property
    def running(self) -> list[Attempt]:
        return [attempt for attempt in self.open if attempt.is_running]

    @property
    def attempts(self) -> list[Attempt]:
        """Every attempt there ever was, as it is now."""
        return [*self.ended, *self.open]

    def ran(self, first: datetime, last: datetime) -> dict[datetime, int]:
        """What `Backfill` is to know: occurrences that have run, or are open, with their last number."""
        found: dict[datetime, int] = {}
        for attempt in self.attempts:
            if attempt.request is None and first <= attempt.scheduled_for <= last:
                known = found.get(attempt.scheduled_for, 0)
                found[attempt.scheduled_for] = max(known, attempt.number)
        return found

    def _write(self, what: str, at: datetime, job: Job, decision: Decision) -> None:
        before = self.record
        attempts = {attempt.key: attempt for attempt in self.open}
        for attempt in decision.attempts:
            attempts[attempt.key] = attempt
            if not attempt.is_open:
                self.ended.append(attempts.pop(attempt.key))
        self.skips.extend(decision.skips)
        gone = decision.remove
        job = decision.job or job
        self.record = None if gone else Record(job, decision.state, tuple(attempts.values()))
        self.steps.append(Step(what, at, job, before, decision, self.record))


# -- tables ------------------------------------------------------------------------------------------

_OUTCOMES = {
    "ok": Outcome.SUCCEEDED,
    "fail": Outcome.FAILED,
    "timeout": Outcome.TIMED_OUT,
    "interrupt": Outcome.INTERRUPTED,
    "cancelled": Outcome.CANCELLED,
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row of a table: a job, the other definitions it gets, and the script of its life."""

    id: str
    jobs: Mapping[str, Job]
    script: str

    def expected(self) -> list[str]:
        """The script, without its indentation and columns."""
        lines = (" ".join(line.split()) for line in self.script.splitlines())
        return [line for line in lines if line and not line.startswith("--")]

    def played(self) -> list[str]:
        """The script's events, with what came of them."""
        life, lines, heard = Life(), [], 0
        for line in self.expected():
            words = line.partition(" |")[0].split()
            count = len(life.steps)
            if words[1] == "told":
                heard, told = count, [e.what for s in life.steps[heard:] for e in s.decision.events]
                outcome = " ".join(told) or "-"
            elif words[1] == "show":
                outcome = _show(life)
            else:
                outcome = self._happen(life, instant(words[0]), words[1], words[2:])
            lines.append(f"{' '.join(words)} | {outcome}")
        return lines

    def _happen(self, life: Life, at: datetime, verb: str, words: list[str]) -> str:
        count = len(life.steps)
        try:
            self._apply(life, at, verb, words)
        except CommandRefusedError as error:
            return f"refused: {error.details['reason']}"
        return _tell(life.steps[count:])

    def _apply(self, life: Life, at: datetime, verb: str, words: list[str]) -> None:
        name = next((word for word in words if "=" not in word), None)
        match verb:
            case "declare":
                life.declare(self.jobs[name or "job"], at)
            case "remove" | "claim" | "look":
                getattr(life, verb)(at)
            case "lose":
                life.lose(_held(life, name), at)
            case _ if verb in _OUTCOMES:
                options = dict(word.split("=") for word in words if "=" in word)
                finished = instant(options["finished"]) if "finished" in options else None
                life.end(_held(life, name), at, _OUTCOMES[verb], finished)
            case _:
                life.command(_command(life, verb, words), at)


def case(
    id_: str, policy: Policy | Job, script: str, rule: Schedule | str = "* * * * *", **jobs: Job
) -> Case:
    """A row: a policy for a job that is due every minute, unless another rule or a whole job is given."""
    job = policy if isinstance(policy, Job) else make_job(rule, policy)
    return Case(id=id_, jobs={"job": job, "off": replace(job, enabled=False), **jobs}, script=script)


def name_of(attempt: Attempt) -> str:
    """`10:00`, `!request`, `10:00#2`."""
    name = brief(attempt.scheduled_for) if attempt.request is None else f"!{attempt.request}"
    return name if attempt.number == 1 else f"{name}#{attempt.number}"


def _held(life: Life, name: str | None) -> Attempt:
    (found,) = (attempt for attempt in life.running if name in (None, name_of(attempt)))
    return found


def _command(life: Life, verb: str, words: list[str]) -> Command:
    match verb:
        case "run":
            return RunNow(words[0])
        case "pause":
            return Pause()
        case "resume":
            return Resume()
        case "cancel":
            keys = [attempt.run_key for attempt in life.open if name_of(attempt) == words[0]]
            return Cancel(keys[0] if keys else f"tests/job@{words[0]}")
        case "backfill":
            first, last = instant(words[0]), instant(words[1])
            return Backfill(first, last, life.ran(first, last), rerun="rerun" in words)
    raise AssertionError(f"no such event: {verb}")


def _tell(steps: list[Step]) -> str:
    """What came of some decisions, in their order, and when somebody must look next."""
    told: list[str] = []
    for step in steps:
        known = {attempt.key: attempt for attempt in (step.before.attempts if step.before else ())}
        told += (_change(known.get(attempt.key), attempt) for attempt in step.decision.attempts)
        told += (f"skip {_span(skip.first, skip.last)} ({skip.reason})" for skip in step.decision.skips)
    if not steps or (not told and steps[-1].before == steps[-1].after):
        return "-"
    after = steps[-1].after
    if after is None:
        return "; ".join([*told, "gone"])
    if steps[-1].what != "remove" and after.state.removed_at == steps[-1].at:
        return "; ".join([*told, "removed"])
    wake_at = after.state.wake_at
    return "; ".join([*told, f"wake {brief(wake_at)}" if wake_at else "asleep"])


def _change(known: Attempt | None, attempt: Attempt) -> str:
    name, trigger = name_of(attempt), attempt.trigger
    match attempt.state:
        case AttemptState.RUNNING:
            covers = attempt.covers_from
            return f"start {name} {trigger}" + (f" covers {brief(covers)}" if covers else "")
        case AttemptState.CANCELLING:
            return f"cancel {name}"
        case AttemptState.ENDED:
            was_held = known is not None and known.is_running
            return f"end {name} {attempt.outcome}" if was_held else f"drop {name} ({attempt.reason})"
        case _ if known is not None:
            return f"release {name}"
    when = f" at {brief(attempt.wake_at)}" if attempt.wake_at else ""
    return f"{'plan' if when else 'wait'} {name} {trigger}{when}"


def _show(life: Life) -> str:
    state = life.there.state
    marks = [("paused", state.paused_at), ("removed", state.removed_at)]
    return "; ".join(
        [
            f"served {brief(state.served_until)}",
            f"next {brief(state.next_at)}",
            f"wake {brief(state.wake_at)}" if state.wake_at else "asleep",
            *(f"{word} {brief(at)}" for word, at in marks if at),
        ]
    )


def _span(first: datetime, last: datetime) -> str:
    return brief(first) if first == last else f"{brief(first)}..{brief(last)}"
