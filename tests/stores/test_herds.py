"""A herd is started and ended without a look at single jobs, on each SQL store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Outcome
from foliot.model.job import Action
from foliot.model.policy import Overlap, OverlapMode, Policy
from foliot.stores.sql.batch import WriteBatch
from foliot.testing.contract.sample import a_job, some_jobs
from foliot.testing.contract.stage import OpenStore, Stage, scenario
from stores.test_sharing import CLOCK, open_store

__all__ = ["open_store"]


@pytest.fixture
def stage(open_store: OpenStore) -> Stage:
    return Stage(open_store, CLOCK)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which ways of reading single jobs were gone."""
    gone: list[str] = []

    def note(name: str) -> None:
        real: Any = getattr(WriteBatch, name)

        def noted(self: WriteBatch, *args: Any) -> Any:
            gone.append(name)
            return real(self, *args)

        monkeypatch.setattr(WriteBatch, name, noted)

    for name in ("read", "by_key", "decide"):
        note(name)
    return gone


class TestHerds:
    """Of this the contract sees nothing: the long way comes to the same."""

    @scenario
    async def test_no_job_of_a_herd_is_read_by_itself(self, stage: Stage, looks: list[str]) -> None:
        await stage.join("a")
        await stage.plan(*some_jobs(30))
        assert (await stage.claim_whole("a", decide=plan_due)).runs == ()
        await stage.advance(timedelta(hours=1))
        looks.clear()
        runs = (await stage.claim_whole("a", decide=plan_due)).runs
        endings = [run.ending(Outcome.SUCCEEDED, stage.now, stage.now) for run in runs]
        finished = await stage.store.finish("a", endings, stage.now, plan_ended)
        assert (len(runs), len(finished.events), finished.refused) == (30, 30, ())
        assert looks == []

    @scenario
    async def test_the_first_claim_of_a_store_starts_a_herd_as_well(
        self, stage: Stage, looks: list[str]
    ) -> None:
        await stage.join("a")
        await stage.plan(*some_jobs(30))
        await stage.advance(timedelta(hours=1))
        looks.clear()
        assert len((await stage.claim_whole("a", decide=plan_due)).runs) == 30
        assert looks == []

    @scenario
    async def test_jobs_that_are_not_alike_are_started_in_their_places(
        self, stage: Stage, looks: list[str]
    ) -> None:
        """A job whose last run has not ended is one of no herd."""
        await stage.join("a")
        await stage.plan(*some_jobs(30, policy=Policy(overlap=Overlap(mode=OverlapMode.PARALLEL))))
        await stage.advance(timedelta(hours=1))
        first = (await stage.claim_whole("a", decide=plan_due)).runs
        busy = [first[9], first[20]]
        endings = [run.ending(Outcome.SUCCEEDED, stage.now, stage.now) for run in first if run not in busy]
        assert (await stage.store.finish("a", endings, stage.now, plan_ended)).refused == ()
        await stage.advance(timedelta(hours=1))
        looks.clear()
        runs = (await stage.claim_whole("a", decide=plan_due)).runs
        names = [run.job.name for run in runs]
        assert (len(names), names) == (30, sorted(names))
        assert looks.count("read") == 2
        endings = [run.ending(Outcome.SUCCEEDED, stage.now, stage.now) for run in (*runs, *busy)]
        assert (await stage.store.finish("a", endings, stage.now, plan_ended)).refused == ()

    @scenario
    async def test_a_run_tells_of_its_job_and_its_attempt_without_making_them(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.plan(*(a_job(f"a/n{n}") for n in range(3)))
        await stage.advance(timedelta(hours=1))
        runs = (await stage.claim_whole("a", decide=plan_due)).runs
        assert len(runs) == 3
        for run in runs:
            told = (run.name, run.schedule, run.scheduled_for, run.is_requested, run.queue, run.timeout)
            job, attempt = run.job, run.attempt
            made = (job.name, job.schedule, attempt.scheduled_for, attempt.request is not None)
            assert told == (*made, job.queue, job.policy.timeout)

    @scenario
    async def test_a_function_gets_data_of_its_own(self, stage: Stage) -> None:
        await stage.join("a")
        data: list[dict[str, Any]] = [{"n": 1}, {"n": [1, {"m": 2}]}]
        await stage.plan(*(a_job(f"n{n}", action=Action(kind="test", data=of)) for n, of in enumerate(data)))
        await stage.advance(timedelta(hours=1))
        runs = (await stage.claim_whole("a", decide=plan_due)).runs
        for run, own in zip(runs, data, strict=True):
            assert run.arguments == own
            run.arguments.clear()
            if isinstance(inner := run.arguments["n"], list):
                inner[1].clear()
            assert run.arguments == own
