"""What the planner is asked: one row per kind of decision, with all its questions prepared beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from benchmarks.cron.measure import Timing, Work, take_turns
from benchmarks.plan.herd_of_jobs import (
    NODE,
    START,
    declared,
    distinct_rules,
    ending,
    make_jobs,
    running,
    wake_of,
)
from foliot.engine.plan_command import Pause, RunNow, plan_command
from foliot.engine.plan_definition import plan_declared
from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.model.attempt import AttemptState, Outcome, Trigger
from foliot.model.decision import Decision, Happening
from foliot.model.job import Job
from foliot.model.policy import Misfire, MisfireMode, Overlap, OverlapMode, Policy, Retry
from foliot.model.state import Record

GOAL_US = 10
HAPPY = ("due", "ended")
_LONG = timedelta(days=40, hours=5)  # no rule of the sample fires twice a day: all is late
_MOMENT = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of decision: its name, what it is, how it is asked for, and what it must be."""

    name: str
    words: str
    ask: Callable[..., Decision]
    questions: list[tuple[Any, ...]]
    is_right: Callable[[Decision], bool]

    def ask_all(self) -> None:
        """Ask every question once."""
        ask = self.ask
        for question in self.questions:
            ask(*question)


def measure_decisions(jobs: int, rounds: int) -> dict[str, tuple[str, Timing]]:
    """Each row's words and timing, by its name."""
    rows = list(_rows(jobs))
    for row in rows:
        wrong = [question for question in row.questions if not row.is_right(row.ask(*question))]
        if wrong:
            raise AssertionError(f"{row.name}: {len(wrong)} decisions are not what they should be")
    timings = take_turns({row.name: Work(row.ask_all, len(row.questions)) for row in rows}, rounds)
    return {row.name: (row.words, timings[row.name]) for row in rows}


def _rows(count: int) -> Iterator[Row]:
    rules = distinct_rules(count)
    plain = make_jobs(rules, Policy())
    yield from _happy_rows(plain)
    yield from _busy_rows(plain)
    yield from _failure_rows(make_jobs(rules, Policy(retry=Retry(max=3, delay="10s", jitter=0.1))))
    yield from _late_rows(plain)
    yield from _other_rows(plain)


def _happy_rows(jobs: list[Job]) -> Iterator[Row]:
    yield Row("due", "one occurrence, in time: it starts", plan_due, _due(declared(jobs)), _tells("started"))
    yield Row(
        "ended",
        "it has succeeded",
        plan_ended,
        [(r, e, e.finished_at) for r in running(jobs) for e in [ending(r, Outcome.SUCCEEDED)]],
        _tells("ended"),
    )


def _busy_rows(jobs: list[Job]) -> Iterator[Row]:
    words = "an occurrence finds a run open"
    yield Row("busy, skip", words, plan_due, _due(running(jobs)), lambda d: d.state.wake_at is None)
    waiting = [_with(job, overlap=Overlap(mode=OverlapMode.WAIT)) for job in jobs]
    yield Row("busy, wait", words, plan_due, _due(running(waiting)), _tells("waits"))
    replacing = [_with(job, overlap=Overlap(mode=OverlapMode.REPLACE)) for job in jobs]
    yield Row("busy, replace", words, plan_due, _due(running(replacing)), _tells("cancel_asked"))
    yield Row(
        "ended, released",
        "it has succeeded, and an occurrence came meanwhile",
        plan_ended,
        [
            (seen, ending(seen, Outcome.SUCCEEDED), wake_of(seen) + _MOMENT)
            for r in running(jobs)
            for seen in [r._replace(state=plan_due(r, wake_of(r), NODE).state)]
        ],
        _tells("skipped"),
    )


def _failure_rows(jobs: list[Job]) -> Iterator[Row]:
    failed = [(r, e, e.finished_at) for r in running(jobs) for e in [ending(r, Outcome.FAILED)]]
    yield Row(
        "ended, retry", "it has failed, and is tried again", plan_ended, failed, _tells("retry_planned")
    )
    yield Row("due, retry", "the retry starts", plan_due, list(_retries(failed)), _starts(Trigger.RETRY))
    yield Row(
        "lost",
        "its node was buried, and it starts anew",
        plan_lost,
        [(r, r.attempts[0].run_key, 1, wake_of(r)) for r in running(jobs)],
        _tells("restart_planned"),
    )


def _retries(failed: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for record, end, now in failed:
        decision = plan_ended(record, end, now)
        waiting = tuple(attempt for attempt in decision.attempts if attempt.is_open)
        yield Record(record.job, decision.state, waiting), waiting[0].wake_at, NODE


def _late_rows(jobs: list[Job]) -> Iterator[Row]:
    everything = Misfire(mode=MisfireMode.ALL, limit=10)
    for name, words, late in (
        ("catch-up, once", "40 days late: one run for all that was missed", jobs),
        (
            "catch-up, all(10)",
            "40 days late: runs for the last ten",
            [_with(job, misfire=everything) for job in jobs],
        ),
    ):
        questions = [(r, wake_of(r) + _LONG, NODE) for r in declared(late)]
        yield Row(name, words, plan_due, questions, _starts(Trigger.CATCH_UP))


def _other_rows(jobs: list[Job]) -> Iterator[Row]:
    now = START + _MOMENT
    yield Row(
        "declared, new",
        "a source declares it for the first time",
        plan_declared,
        [(job, None, now) for job in jobs],
        _tells("declared"),
    )
    yield Row(
        "declared, same",
        "a source declares what is there",
        plan_declared,
        [(replace(r.job), r, now) for r in declared(jobs)],
        lambda d: not d.events,
    )
    yield Row(
        "declared, changed",
        "a source declares another rule",
        plan_declared,
        [
            (replace(r.job, schedule=other.schedule), r, now)
            for r, other in zip(declared(jobs), [*jobs[1:], jobs[0]], strict=True)
        ],
        _tells("changed"),
    )
    yield Row(
        "command, run now",
        "a person asks for a run",
        plan_command,
        [(r, RunNow("request-1"), now) for r in declared(jobs)],
        _tells("requested"),
    )
    yield Row(
        "command, pause",
        "a person pauses it",
        plan_command,
        [(r, Pause(), now) for r in declared(jobs)],
        _tells("paused"),
    )


def _due(records: Iterable[Record]) -> list[tuple[Any, ...]]:
    return [(record, wake_of(record), NODE) for record in records]


def _with(job: Job, **policies: Any) -> Job:
    return replace(job, policy=replace(job.policy, **policies))


def _tells(what: str) -> Callable[[Decision], bool]:
    happening = Happening(what)
    return lambda decision: any(event.what is happening for event in decision.events)


def _starts(trigger: Trigger) -> Callable[[Decision], bool]:
    return lambda decision: any(
        a.trigger is trigger and a.state is AttemptState.RUNNING for a in decision.attempts
    )
