"""Groups: of all jobs of a group, only so many run at a time, over all nodes."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections.abc import Sequence

import pytest

from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.model.attempt import Attempt, Outcome
from foliot.model.job import Job
from foliot.model.policy import Overlap, OverlapMode, Policy, Retry
from foliot.testing.contract.crowd import KINDS, Crowd
from foliot.testing.contract.sample import HOUR, MINUTE, SECOND, SOURCE, a_job, keys_of, some_jobs
from foliot.testing.contract.stage import Contract, Stage, scenario

ONE, TWO = {"db": 1}, {"db": 2}
ENOUGH = 10  # claims, until what is behind thousands must have been found


def jobs_of(attempts: Sequence[Attempt]) -> list[str]:
    """The names of their jobs, in order."""
    return [attempt.job.partition("/")[2] for attempt in attempts]


async def declare_in_turn(stage: Stage, *jobs: Job) -> None:
    """Declare jobs that are due, the first of them for longest."""
    for place, job in enumerate(jobs):
        await stage.declare(job, wake_at=stage.now - (len(jobs) - place) * SECOND)


class GroupContract(Contract):
    """A job of a full group waits, and nothing else does."""

    @pytest.fixture(params=KINDS)
    def group_crowd(self, request: pytest.FixtureRequest, stage: Stage) -> Crowd:
        """Claimers that want places of one group."""
        if request.param == "processes" and stage.sharing is None:
            pytest.skip("this store cannot be shared between processes")
        return Crowd(stage, request.param)

    @scenario
    async def test_a_group_starts_as_many_as_it_may_and_the_longest_due_first(self, stage: Stage) -> None:
        await stage.join("a")
        await declare_in_turn(stage, *(a_job(name, group="db") for name in ("x", "c", "b", "a")))
        claimed = await stage.claim("a", limits=TWO)
        assert jobs_of(claimed) == ["x", "c"]
        assert await stage.running("db") == 2
        await stage.finish("a", claimed[0])
        assert await stage.running("db") == 1
        assert jobs_of(await stage.claim("a", limits=TWO)) == ["b"]

    @scenario
    async def test_what_waits_is_left_as_it_is_and_told(self, stage: Stage) -> None:
        await stage.join("a")
        await declare_in_turn(stage, a_job("first", group="db"), a_job("second", group="db"))
        assert not (await stage.claim_whole("a", {"default": 0}, limits=ONE)).waits
        assert jobs_of(await stage.claim("a", limits=ONE)) == ["first"]
        before = await stage.record(f"{SOURCE}/second")
        claimed = await stage.claim_whole("a", limits=ONE)
        assert (claimed.runs, claimed.more, claimed.waits) == ((), False, True)
        assert await stage.record(f"{SOURCE}/second") == before

    @scenario
    async def test_a_group_holds_over_all_nodes(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await declare_in_turn(stage, a_job("first", group="db"), a_job("second", group="db"))
        (first,) = await stage.claim("a", limits=ONE)
        assert await stage.claim("b", limits=ONE) == []
        await stage.finish("a", first)
        assert jobs_of(await stage.claim("b", limits=ONE)) == ["second"]

    @scenario
    async def test_claimers_at_once_never_exceed_the_limit(self, stage: Stage, group_crowd: Crowd) -> None:
        jobs, crowd = some_jobs(40, group="db"), group_crowd
        await crowd.join()
        await stage.declare(*jobs)
        taken = await crowd.claim_together(limits={"db": 3}, turns=20)
        assert len(taken) <= 3
        assert await stage.running("db") == len(taken)
        for node in crowd.nodes:  # a group that another had at hand at that moment is full by now
            taken += [one for order in await crowd.claim(limits={"db": 3}, turns=3) for one in order]
            assert len(taken) <= 3, f"after {node}"
        assert len(taken) == 3

    @scenario
    async def test_claimers_that_finish_serve_the_whole_group(self, stage: Stage, group_crowd: Crowd) -> None:
        jobs, crowd = some_jobs(12, group="db"), group_crowd
        await crowd.join()
        await stage.declare(*jobs)
        taken = await crowd.claim_together(limits=ONE, finishes=True)
        while len(taken) < len(jobs):  # those who met a full group have given up
            more = await crowd.claim_together(limits=ONE, finishes=True)
            assert more, "the group is free, and its jobs are due"
            taken += more
        assert sorted(one.job for one in taken) == keys_of(jobs)

    @scenario
    async def test_a_full_group_is_in_no_other_jobs_way(self, stage: Stage) -> None:
        await stage.join("a")
        await declare_in_turn(
            stage,
            *some_jobs(5, group="db"),
            a_job("free"),
            a_job("other", group="disk"),
            a_job("elsewhere", queue="slow"),
        )
        claimed = await stage.claim("a", {"default": 3, "slow": 1}, limits={"db": 1, "disk": 1})
        assert sorted(jobs_of(claimed)) == ["elsewhere", "free", "job-0000", "other"]

    @scenario
    async def test_thousands_that_wait_hide_nothing_and_keep_their_order(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job("first", group="db"), wake_at=stage.now - HOUR)
        (held,) = await stage.claim("a", limits=ONE)
        await stage.declare(a_job("second", group="db"), wake_at=stage.now - MINUTE)
        await stage.declare(*some_jobs(2500, group="db"), wake_at=stage.now - SECOND)
        await stage.declare(a_job("free"))
        found: list[str] = []
        for _ in range(ENOUGH):
            found += jobs_of(await stage.claim("a", {"default": 5}, limits=ONE))
        assert found == ["free"]
        await stage.finish("a", held)
        assert jobs_of(await stage.claim("a", {"default": 5}, limits=ONE)) == ["second"]

    @scenario
    async def test_what_waits_does_not_hide_what_comes_next(self, stage: Stage) -> None:
        await stage.join("a")
        await declare_in_turn(stage, a_job("first", group="db"), a_job("second", group="db"))
        await stage.declare(a_job("later"), wake_at=stage.later(MINUTE))
        await stage.declare(a_job("last", queue="slow"), wake_at=stage.later(HOUR))
        assert len(await stage.claim("a", limits=ONE)) == 1
        second = (await stage.record(f"{SOURCE}/second")).state.wake_at
        assert await stage.next_wake(["default"]) == second
        assert await stage.next_wake(["default"], after=stage.now) == stage.later(MINUTE)
        assert await stage.next_wake(["default", "slow"], after=stage.later(MINUTE)) == stage.later(HOUR)
        assert await stage.next_wake(["default"], after=stage.later(MINUTE)) is None
        assert await stage.next_wake(["default"], ["another"], after=stage.now) is None
        assert await stage.next_wake(["default"], ["test"], after=stage.now) == stage.later(MINUTE)

    @scenario
    async def test_a_group_without_a_limit_waits_for_a_node_that_knows_it(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(a_job(group="db"))
        claimed = await stage.claim_whole("a", limits={"disk": 5})
        assert (claimed.runs, claimed.waits) == ((), True)
        assert jobs_of(await stage.claim("b", limits=ONE)) == ["job"]

    @scenario
    async def test_the_limit_may_change(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(*some_jobs(6, group="db"))
        three = await stage.claim("a", limits={"db": 3})
        assert len(three) == 3
        assert await stage.claim("b", limits=ONE) == []
        await stage.finish("a", three[0], three[1])
        assert await stage.claim("b", limits=ONE) == []
        await stage.finish("a", three[2])
        assert len(await stage.claim("b", limits=ONE)) == 1
        assert len(await stage.claim("a", limits={"db": 3})) == 2

    @scenario
    async def test_a_buried_node_frees_its_places(self, stage: Stage) -> None:
        await stage.join("dies", "lives")
        await declare_in_turn(stage, a_job("first", group="db"), a_job("second", group="db"))
        assert jobs_of(await stage.claim("dies", limits=ONE)) == ["first"]
        await stage.die("dies")
        assert await stage.claim("lives", limits=ONE) == []
        await stage.recover()
        assert await stage.running("db") == 0
        assert jobs_of(await stage.claim("lives", limits=ONE)) == ["second"]

    @scenario
    async def test_a_retry_takes_a_place_like_any_other_attempt(self, stage: Stage) -> None:
        await stage.join("a")
        policy = Policy(retry=Retry(3, SECOND))
        await stage.plan(a_job("tries", group="db", policy=policy))
        await stage.advance(HOUR)
        (first,) = await stage.claim("a", decide=plan_due, limits=ONE)
        await stage.finish("a", first, outcome=Outcome.FAILED, decide=plan_ended)
        assert await stage.running("db") == 0
        await stage.declare(a_job("other", group="db"))
        assert jobs_of(await stage.claim("a", limits=ONE)) == ["other"]
        await stage.advance(MINUTE)
        assert await stage.claim("a", decide=plan_due, limits=ONE) == []
        (other,) = await stage.store.held("a")
        await stage.finish("a", other)
        (retry,) = await stage.claim("a", decide=plan_due, limits=ONE)
        assert (retry.job, retry.number) == (first.job, 2)
        assert await stage.running("db") == 1

    @scenario
    async def test_a_restart_takes_a_place_too(self, stage: Stage) -> None:
        await stage.join("dies", "lives")
        await stage.plan(a_job(group="db"))
        await stage.advance(HOUR)
        assert len(await stage.claim("dies", decide=plan_due, limits=ONE)) == 1
        await stage.bury("dies", plan_lost)
        (again,) = await stage.claim("lives", decide=plan_due, limits=ONE)
        assert (again.number, await stage.running("db")) == (2, 1)

    @scenario
    async def test_one_job_does_not_start_more_than_its_group_may(self, stage: Stage) -> None:
        await stage.join("a")
        policy = Policy(overlap=Overlap(mode=OverlapMode.PARALLEL))
        await stage.plan(a_job(group="db", policy=policy))
        await stage.advance(HOUR)
        assert len(await stage.claim("a", decide=plan_due, limits=ONE)) == 1
        await stage.advance(HOUR)
        assert await stage.claim("a", decide=plan_due, limits=ONE) == []
        assert len(await stage.claim("a", decide=plan_due, limits=TWO)) == 1

    @scenario
    async def test_an_attempt_counts_in_the_group_it_was_started_in(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job("moves", group="db"))
        (held,) = await stage.claim("a", limits=ONE)
        await stage.declare(a_job("moves", group="disk"), a_job("waits", group="db"))
        assert (await stage.running("db"), await stage.running("disk")) == (1, 0)
        await stage.finish("a", held)
        assert (await stage.running("db"), await stage.running("disk")) == (0, 0)

    @scenario
    async def test_the_same_claim_again_takes_no_more_places(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(3, group="db"))
        first = await stage.claim("a", claim_id="once", limits=TWO)
        again = await stage.claim("a", claim_id="once", limits=TWO)
        assert sorted(jobs_of(again)) == sorted(jobs_of(first))
        assert await stage.running("db") == 2

    @scenario
    async def test_a_group_is_part_of_the_definition(self, stage: Stage) -> None:
        await stage.declare(a_job("in", group="db"), a_job("out"))
        assert (await stage.record(f"{SOURCE}/in")).job == a_job("in", group="db")
        assert (await stage.record(f"{SOURCE}/out")).job.group is None
