"""A job with thousands of open attempts: each step costs by what it does, and other jobs get their turn."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.model.attempt import Attempt, Outcome
from foliot.model.decision import Decision
from foliot.model.policy import Policy, parallel
from foliot.model.state import Record
from foliot.testing.contract.sample import SECOND, SOURCE, a_job, open_pending, some_jobs
from foliot.testing.contract.stage import Contract, Stage, scenario

KEY = f"{SOURCE}/crowded"
OPEN = 2000


def counted(decide: Callable[..., Decision]) -> tuple[Callable[..., Decision], Counter[str]]:
    """The same decisions, and how often each job was asked about."""
    asked: Counter[str] = Counter()

    def count(record: Record, *facts: Any) -> Decision:
        asked[record.job.key] += 1
        return decide(record, *facts)

    return count, asked


async def crowd(stage: Stage, count: int = OPEN) -> None:
    """A job that may run in parallel, with so many runs that wait, and have waited for longer than others."""
    await stage.join("a")
    await stage.plan(a_job("crowded", policy=Policy(overlap=parallel())))
    requests = [f"r{number:05}" for number in range(count)]
    for start in range(0, count, 500):
        await stage.store.update(KEY, open_pending(stage.now, *requests[start : start + 500]))
    await stage.advance(SECOND)


async def start_all(stage: Stage) -> list[Attempt]:
    """All that may start, claim by claim."""
    found: list[Attempt] = []
    while started := await stage.claim("a", {"default": 500}, plan_due):
        found += started
    return found


class CrowdOfOneContract(Contract):
    """OWN-14: thousands of open attempts of one job delay no other job."""

    @scenario
    async def test_others_start_in_the_same_claim(self, stage: Stage) -> None:
        await crowd(stage)
        others = some_jobs(50)
        await stage.declare(*others)
        for job in others:
            await stage.store.update(job.key, open_pending(stage.now, "now"))
        decide, asked = counted(plan_due)
        started = await stage.claim("a", {"default": 500}, decide)
        by_job = Counter(attempt.job for attempt in started)
        assert by_job == Counter({KEY: 450}) + Counter({f"{SOURCE}/job-{n:04}": 1 for n in range(50)})
        assert asked[KEY] <= 2, "one decision starts many"

    @scenario
    async def test_each_start_has_a_token_of_its_own(self, stage: Stage) -> None:
        await crowd(stage)
        started = await start_all(stage)
        assert len(started) == OPEN
        assert len({attempt.token for attempt in started}) == OPEN
        assert [attempt.token for attempt in started] == sorted(attempt.token for attempt in started)
        assert len({attempt.key for attempt in started}) == OPEN

    @scenario
    async def test_a_claim_is_told_again_with_all_that_it_started(self, stage: Stage) -> None:
        await crowd(stage)
        first = await stage.claim("a", {"default": 500}, plan_due, claim_id="c")
        assert await stage.claim("a", {"default": 500}, plan_due, claim_id="c") == first

    @scenario
    async def test_many_ends_are_one_decision(self, stage: Stage) -> None:
        await crowd(stage)
        started = await start_all(stage)
        decide, asked = counted(plan_ended)
        for part in range(0, OPEN, 500):
            finished = await stage.finish("a", *started[part : part + 500], decide=decide)
            assert (finished.refused, len(finished.events)) == ((), 500)
        assert asked[KEY] == OPEN // 500
        assert (await stage.record(KEY)).attempts == ()
        assert len(await stage.runs(outcome=Outcome.SUCCEEDED)) == OPEN

    @scenario
    async def test_of_many_ends_each_counts_for_its_own_attempt(self, stage: Stage) -> None:
        await crowd(stage, 10)
        started = await start_all(stage)
        await stage.finish("a", started[3], decide=plan_ended)
        endings = [stage.ending(attempt) for attempt in started]
        endings[5] = endings[5]._replace(token=endings[5].token + 100)
        endings.append(endings[0])
        finished = await stage.store.finish("a", endings, stage.now, plan_ended)
        assert [refused.ending for refused in finished.refused] == [endings[3], endings[5], endings[0]]
        assert [attempt.key for attempt in await stage.store.held("a")] == [started[5].key]

    @scenario
    async def test_many_losses_are_few_decisions(self, stage: Stage) -> None:
        await crowd(stage)
        await start_all(stage)
        decide, asked = counted(plan_lost)
        await stage.store.leave("a")
        while (await stage.store.recover(1000, stage.now, decide)).more:
            pass
        assert asked[KEY] == OPEN // 1000
        record = await stage.record(KEY)
        assert len(record.attempts) == OPEN, "each is started anew"
        assert {attempt.number for attempt in record.attempts} == {2}
