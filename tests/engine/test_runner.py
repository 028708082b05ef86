"""What a node holds, and what it finds out about it: the cost grows with the number, not with its square."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.stage import job
from foliot.engine.runner import Runner
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.job import Job
from foliot.protocols import AskToEnd, OnEnd, Result, Run
from foliot.testing.clock import ManualClock

MANY = 20_000


class Counted(int):
    """An attempt's number that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return int.__eq__(self, other)

    __hash__ = int.__hash__


class ByHand:
    """An executor whose attempts end when the test says so."""

    def __init__(self) -> None:
        self.started: list[tuple[Run, OnEnd]] = []

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        self.started.append((run, on_end))
        return lambda: None

    def end_all(self) -> None:
        for run, on_end in self.started:
            on_end(run, Result(Outcome.SUCCEEDED))
        self.started.clear()


def an_attempt(number: int) -> Attempt:
    return Attempt(
        "code/a", Counted(number), Trigger.SCHEDULE, AttemptState.RUNNING, ManualClock().now(), token=1
    )


def _play(scene: Any) -> None:
    async def act() -> None:
        clock, executor = ManualClock(), ByHand()
        scene(Runner({"x": executor}, clock, clock.now, lambda: None), executor)

    asyncio.run(act())


def test_finding_strangers_among_many_does_not_compare_each_with_each() -> None:
    def scene(runner: Runner, executor: ByHand) -> None:
        a_job: Job = job()
        attempts = [an_attempt(number) for number in range(MANY)]
        third = MANY // 3
        for attempt in attempts[:third]:
            runner.start([Run(a_job, attempt)])
        executor.end_all()
        runner.take_report()  # a third is under way to the store, a third has ended, and a third runs
        for attempt in attempts[third : 2 * third]:
            runner.start([Run(a_job, attempt)])
        executor.end_all()
        for attempt in attempts[2 * third :]:
            runner.start([Run(a_job, attempt)])
        stranger = an_attempt(MANY)
        held = [an_attempt(number) for number in range(MANY)] + [stranger]
        Counted.comparisons = 0

        unknown = runner.endings_of_unknown(held)

        assert [(ending.run_key, ending.number) for ending in unknown] == [stranger.key]
        assert Counted.comparisons <= 5 * MANY

    _play(scene)


class Elsewhere:
    """Asks an attempt to end whose action is carried out elsewhere."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self) -> None:
        self.asked.append("end")

    def let_go(self) -> None:
        self.asked.append("let go")


@pytest.mark.parametrize(
    ("verdict", "asked"),
    [
        (Outcome.CANCELLED, "end"),
        (Outcome.TIMED_OUT, "end"),
        (Outcome.INTERRUPTED, "let go"),
        (Outcome.LOST, "let go"),
    ],
)
def test_an_action_that_is_carried_out_elsewhere_outlives_its_node_but_not_its_run(
    verdict: Outcome, asked: str
) -> None:
    class Sender:
        ask = Elsewhere()

        def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
            del run, on_end
            return self.ask

    async def act() -> None:
        clock, sender = ManualClock(), Sender()
        runner = Runner({"x": sender}, clock, clock.now, lambda: None)
        attempt = an_attempt(1)
        runner.start([Run(job(), attempt)])
        runner.end(attempt.key, verdict)
        assert sender.ask.asked == [asked]

    asyncio.run(act())
