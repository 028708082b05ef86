"""Revisions: no node sees half of one, no claim is overwritten, and a dead writer holds nothing up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, RunQuery
from foliot.stores.mongodb import MongoStore
from foliot.stores.mongodb.transaction import Transactions
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import (
    HOUR,
    SOURCE,
    a_job,
    count_one,
    declare_at,
    end,
    some_jobs,
    start_due,
    untouched,
)
from stores.mongodb.playing import Crash, Fate, declare, inside, play, start

FAR, PAST = datetime(2999, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC)

MEETINGS: dict[str, Callable[[MongoStore, ManualClock], Awaitable[Any]]] = {
    "claim": lambda store, clock: store.claim("a", clock.now(), {"default": 1}, start_due, "first"),
    "update": lambda store, _: store.update(f"{SOURCE}/job-0299", count_one),
    "overview": lambda store, _: store.overview(),
    "jobs": lambda store, _: store.jobs(JobQuery()),
    "wakes": lambda store, _: store.wakes(["default"]),
    "sources": lambda store, _: store.sources(),
    "reconcile": lambda store, clock: declare(store, clock, 1, "r3"),
}


@pytest.mark.parametrize("meeting", MEETINGS)
def test_a_revision_that_counts_is_applied_by_the_first_call_that_meets_it(
    url: str, meeting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock, 300)
        with monkeypatch.context() as patched:
            patched.setattr(
                Transactions, "apply", lambda *_: None
            )  # the writer dies at the point of no return
            await declare(store, clock, 301, "r2", queue="other")
            assert await store.revision(SOURCE) == "r2"
        await MEETINGS[meeting](store, clock)
        with inside(url) as jobs:
            assert jobs.count_documents({"q": {"$regex": "^other\n"}}) >= 300  # one may be declared anew
            assert jobs.count_documents({"next": {"$exists": True}}) == 0

    play(url, act)


def test_before_it_counts_a_revision_has_changed_nothing(url: str) -> None:
    fate = Fate()

    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        before = await store.jobs(JobQuery())
        fate.step, fate.passes = "reconcile:before_commit", 1  # jobs are prepared, the source is to be told
        with pytest.raises(Crash):
            await declare(store, clock, 7, "r2", queue="other")
        assert await store.jobs(JobQuery()) == before
        assert await store.revision(SOURCE) == "r1"
        assert len(await start(store, clock)) == 5
        await declare(store, clock, 7, "r2", queue="other")
        assert (await store.overview()).jobs == 7

    play(url, act, failpoint=fate)


def prepare(url: str, store_until: datetime) -> None:
    """A revision of another program is under way: all jobs of the source carry it."""
    with inside(url, "sources") as sources:
        tx = {"id": "another", "state": "preparing", "until": store_until}
        sources.update_one({"_id": SOURCE}, {"$set": {"tx": tx}})
    with inside(url) as jobs:
        staged = {"r": "another", "set": {"b": "nothing of ours"}}
        jobs.update_many({}, {"$set": {"m": "prepared", "next": staged}})


@pytest.mark.parametrize("until", [FAR, PAST], ids=["at work", "dead"])
def test_an_ending_takes_its_job_back_from_a_revision_under_way(url: str, until: datetime) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        (run, *others) = await start(store, clock)
        prepare(url, until)
        ending = run.ending(Outcome.SUCCEEDED, clock.now(), clock.now())
        assert (await store.finish("a", [ending], clock.now(), end)).refused == ()
        with inside(url, "sources") as sources:
            tx = (sources.find_one({"_id": SOURCE}) or {}).get("tx")
        if until == FAR:
            assert tx is not None
            assert tx["taken"] == [run.attempt.job], "so that the revision does not count as it is"
        else:
            assert tx is None
        assert {one.key for one in await store.held("a")} == {one.key for one in others}

    play(url, act)


@pytest.mark.parametrize("until", [FAR, PAST], ids=["at work", "dead"])
def test_a_claim_takes_what_is_due_back_from_a_revision_under_way(url: str, until: datetime) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        prepare(url, until)
        runs = await start(store, clock)
        assert len(runs) == 5
        with inside(url, "sources") as sources:
            tx = (sources.find_one({"_id": SOURCE}) or {}).get("tx")
        assert sorted(tx["taken"]) == sorted(run.attempt.job for run in runs) if tx else until == PAST

    play(url, act)


def test_a_job_that_moves_while_a_revision_is_prepared_is_decided_anew(url: str) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock, 600)
        asked = 0
        loop = asyncio.get_running_loop()

        def declared(job: Any, record: Any) -> Any:
            nonlocal asked
            asked += 1
            if asked == 400:  # some are prepared by now, and some were read a moment ago
                asyncio.run_coroutine_threadsafe(start(store, clock), loop).result(60)
            if asked == 600:
                take = store.update(f"{SOURCE}/job-0000", count_one)
                asyncio.run_coroutine_threadsafe(take, loop).result(60)
            return declare_at(clock.now() + HOUR, clock.now())(job, record)

        changes = Changes(some_jobs(600, queue="other"))
        await store.reconcile(SOURCE, "r1", "r2", changes, declared=declared, removed=untouched)
        views = await store.jobs(JobQuery(limit=1000))
        running = [view.record.attempts for view in views if view.record and view.record.attempts]
        assert len(running) == 100, "no claim was overwritten"
        assert {view.record.job.queue for view in views if view.record} == {"other"}
        assert asked > 600

    play(url, act, lease=timedelta(minutes=4))


def test_a_decision_that_fails_leaves_no_revision_behind(url: str) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        await declare(store, clock, 600)

        def declared(job: Any, record: Any) -> Any:
            if job.name == "job-0550":
                raise RuntimeError("no decision")
            return declare_at(clock.now() + HOUR, clock.now())(job, record)

        changes = Changes(some_jobs(600, queue="other"))
        with pytest.raises(RuntimeError, match="no decision"):
            await store.reconcile(SOURCE, "r1", "r2", changes, declared=declared, removed=untouched)
        with inside(url, "sources") as sources, inside(url) as jobs:
            assert "tx" not in (sources.find_one({"_id": SOURCE}) or {})
            assert jobs.count_documents({"next": {"$exists": True}}) == 0

    play(url, act)


def test_the_planner_lives_half_a_day_on_it(url: str) -> None:
    """A life with the planner: claims, ends, pruning, and what is due is always found."""

    async def act(store: MongoStore, clock: ManualClock) -> None:
        jobs = some_jobs(20)
        await store.join(Node("a"))
        await store.reconcile(
            SOURCE, None, "r1", Changes((*jobs, a_job("last"))),
            declared=PlanDeclared(clock.now()), removed=lambda record: plan_removed(record, clock.now()),
        )  # fmt: skip
        for hour in range(12):
            await clock.advance(HOUR)
            await store.renew("a")
            runs = await start(store, clock, f"c{hour}", plan_due)
            assert len(runs) == 21
            endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
            assert (await store.finish("a", endings, clock.now(), plan_ended)).refused == ()
        assert len(await store.runs(RunQuery(limit=1000))) == 21 * 12
        assert (await store.overview()).open_attempts == 0

    play(url, act)
