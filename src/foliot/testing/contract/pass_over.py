"""Passing over: a job that its node cannot carry out now stays due, and in nobody's way."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest

from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.protocols import Claimed
from foliot.testing.contract.crowd import KINDS, Crowd
from foliot.testing.contract.sample import (
    MINUTE,
    SECOND,
    SOURCE,
    a_job,
    fitting,
    is_own,
    keys_of,
    pass_over,
    some_jobs,
    start_due,
    start_each_minute,
    start_own,
)
from foliot.testing.contract.stage import Contract, Stage, scenario

ENOUGH = 10  # claims, until what is behind thousands must have been found


class PassOverContract(Contract):
    """A decision that writes nothing leaves a job to others, and to later."""

    @pytest.fixture(params=KINDS)
    def mixed_crowd(self, request: pytest.FixtureRequest, stage: Stage) -> Crowd:
        """Claimers of whom each can carry out some of the jobs only."""
        if request.param == "processes" and stage.sharing is None:
            pytest.skip("this store cannot be shared between processes")
        return Crowd(stage, request.param)

    @scenario
    async def test_a_job_that_is_passed_over_is_left_as_it_is(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job())
        before = await stage.record(f"{SOURCE}/job")
        for _ in range(2):
            assert await stage.claim_whole("a", decide=pass_over) == Claimed()
        assert await stage.record(f"{SOURCE}/job") == before
        assert (await stage.store.wakes(["default"])).first == before.state.wake_at
        assert (await stage.store.wakes(["default"], due_by=stage.now)).due == 1

    @pytest.mark.parametrize("room", [1, 3, 20])
    @scenario
    async def test_those_behind_are_claimed_in_their_order(self, stage: Stage, room: int) -> None:
        await stage.join("a")
        jobs = some_jobs(12)
        for number, job in enumerate(jobs):
            await stage.declare(job, wake_at=stage.now - (20 - number) * SECOND)
        fit = [job.key for number, job in enumerate(jobs) if number % 3 == 2]
        claimed = await stage.claim("a", {"default": room}, fitting(fit.__contains__))
        assert [attempt.job for attempt in claimed] == fit[:room]

    @pytest.mark.parametrize("count", [1, 150])
    @scenario
    async def test_another_node_gets_them_at_once(self, stage: Stage, count: int) -> None:
        await stage.join("a", "b")
        jobs = some_jobs(count)
        await stage.declare(*jobs)
        assert await stage.claim("a", decide=pass_over) == []
        assert [attempt.job for attempt in await stage.claim("b")] == keys_of(jobs)

    @pytest.mark.parametrize("count", [1, 150])
    @scenario
    async def test_they_are_claimed_when_they_fit(self, stage: Stage, count: int) -> None:
        await stage.join("a")
        jobs = some_jobs(count)
        await stage.declare(*jobs)
        assert await stage.claim("a", decide=pass_over) == []
        assert [attempt.job for attempt in await stage.claim("a")] == keys_of(jobs)

    @scenario
    async def test_a_claim_asks_about_each_of_them_once(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(30))
        asked: Counter[str] = Counter()

        def decide(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
            asked[record.job.key] += 1
            is_fit = len(asked) % 5 == 0
            return (start_due if is_fit else pass_over)(record, now, node, most)

        assert len(await stage.claim("a", {"default": 4}, decide)) == 4
        assert set(asked.values()) == {1}
        assert len(asked) == 20

    @scenario
    async def test_thousands_of_them_hide_nothing_behind_them(self, stage: Stage) -> None:
        others = some_jobs(2500)
        await stage.join("a")
        await stage.declare(*others, wake_at=stage.now - SECOND)
        await stage.declare(a_job("ours"))
        found: list[str] = []
        for _ in range(ENOUGH):
            claimed = await stage.claim_whole("a", {"default": 1}, fitting(f"{SOURCE}/ours".__eq__))
            found += [attempt.job for _, attempt in claimed.runs]
            assert found or not claimed.more, "nothing has changed: it would ask for ever"
        assert found == [f"{SOURCE}/ours"]

    @scenario
    async def test_thousands_in_one_queue_do_not_hide_another_queue(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(2500), wake_at=stage.now - SECOND)
        for name in ("ours", "ours-too"):  # each claim may begin with another queue
            await stage.declare(a_job(name, queue="other"))
            room = {"default": 5, "other": 5}
            claimed = await stage.claim_whole("a", room, fitting(f"{SOURCE}/{name}".__eq__))
            assert [attempt.job for _, attempt in claimed.runs] == [f"{SOURCE}/{name}"]

    @scenario
    async def test_a_job_that_is_due_again_is_looked_at_again_beside_them(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job("often"), wake_at=stage.now - 3 * MINUTE)
        await stage.declare(*some_jobs(3), wake_at=stage.now - 2 * MINUTE)
        often = fitting(f"{SOURCE}/often".__eq__, start_each_minute)
        assert len(await stage.claim_all("a", often)) == 4

    @scenario
    async def test_among_many_each_job_is_claimed_by_a_node_that_it_fits(
        self, stage: Stage, mixed_crowd: Crowd
    ) -> None:
        jobs, crowd = some_jobs(60), mixed_crowd
        await crowd.join()
        await stage.declare(*jobs)
        taken = [(one.job, one.node) for one in await crowd.claim_together(decide="start_own")]
        for node in crowd.nodes:  # a job that another had at hand at that moment waits for the next claim
            taken += [(attempt.job, node) for attempt in await stage.claim(node, decide=start_own)]
        own = [(job.key, node) for job in jobs for node in crowd.nodes if is_own(job.key, node)]
        assert sorted(taken) == sorted(own)
