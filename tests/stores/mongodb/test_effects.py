"""What a write brings about elsewhere is neither lost nor done twice, wherever its process dies."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.engine.plan_definition import PlanDeclared
from foliot.errors import StoreError
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, RunQuery
from foliot.stores.mongodb import MongoStore, session
from foliot.stores.mongodb.effects import Effects
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, count_one, end, open_pending, some_jobs, untouched
from stores.mongodb.playing import Crash, Fate, declare, inside, play, start


async def crash_in_finish(store: MongoStore, clock: ManualClock, fate: Fate, step: str) -> list[Any]:
    await store.join(Node("a"))
    await declare(store, clock)
    runs = await start(store, clock)
    fate.step = step
    endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
    with pytest.raises(Crash):
        await store.finish("a", endings, clock.now(), end)
    return runs


def test_a_process_that_dies_before_the_past_is_written_loses_none_of_it(url: str) -> None:
    fate = Fate()

    async def act(store: MongoStore, clock: ManualClock) -> None:
        runs = await crash_in_finish(store, clock, fate, "finish:after_commit")
        with inside(url, "history") as history:
            assert history.count_documents({}) == 0
        assert await store.held("a") == ()
        ended = await store.runs(RunQuery(outcome=Outcome.SUCCEEDED))
        assert {one.key for one in ended} == {run.key for run in runs}
        assert [len(await store.runs(RunQuery(job=run.attempt.job))) for run in runs] == [1] * 5

    play(url, act, failpoint=fate)


def test_the_next_write_of_a_job_carries_out_what_the_last_one_left(url: str) -> None:
    fate = Fate()

    async def act(store: MongoStore, clock: ManualClock) -> None:
        (run, *_) = await crash_in_finish(store, clock, fate, "finish:after_commit")
        await store.update(run.attempt.job, count_one)
        with inside(url, "history") as history:
            assert [one["j"] for one in history.find()] == [run.attempt.job]

    play(url, act, failpoint=fate)


def test_before_the_jobs_are_written_nothing_has_ended(url: str) -> None:
    fate = Fate()

    async def act(store: MongoStore, clock: ManualClock) -> None:
        runs = await crash_in_finish(store, clock, fate, "finish:before_commit")
        assert len(await store.held("a")) == 5
        assert await store.runs(RunQuery(is_open=False)) == ()
        endings = [run.ending(Outcome.FAILED, clock.now(), clock.now()) for run in runs]
        assert (await store.finish("a", endings, clock.now(), end)).refused == ()
        assert len(await store.runs(RunQuery(outcome=Outcome.FAILED))) == 5

    play(url, act, failpoint=fate)


def test_a_note_that_nobody_drops_is_dropped_after_a_while(url: str) -> None:
    fate = Fate()

    async def act(store: MongoStore, clock: ManualClock) -> None:
        await crash_in_finish(store, clock, fate, "finish:after_commit")
        with inside(url, "writes") as writes:
            assert writes.count_documents({}) == 1
            await store.runs(RunQuery())
            assert writes.count_documents({}) == 1, "its writer may be at work"
            writes.update_many({}, {"$inc": {"at": -601_000_000}})
            await store.runs(RunQuery())
            assert writes.count_documents({}) == 0

    play(url, act, failpoint=fate)


def test_carrying_out_twice_changes_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    carry_out = Effects.carry_out

    def twice(self: Effects, outboxes: Any) -> None:
        carry_out(self, outboxes)
        carry_out(self, outboxes)

    async def act(store: MongoStore, clock: ManualClock) -> None:
        monkeypatch.setattr(Effects, "carry_out", twice)
        await store.join(Node("a"))
        await declare(store, clock)
        runs = await start(store, clock)
        endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
        await store.finish("a", endings, clock.now(), end)
        changes = Changes(some_jobs(5, queue="other"))
        declared = PlanDeclared(clock.now())
        await store.reconcile(SOURCE, "r1", "r2", changes, declared=declared, removed=untouched)
        assert len(await store.runs(RunQuery())) == 5
        assert len(await store.versions(runs[0].attempt.job)) == 2

    play(url, act)


def test_a_job_that_outgrows_its_document_is_refused_with_a_reason(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(store: MongoStore, clock: ManualClock) -> None:
        monkeypatch.setattr(session, "MOST_BYTES", 40_000)
        await store.join(Node("a"))
        await declare(store, clock, 2)
        key = f"{SOURCE}/job-0000"
        with pytest.raises(StoreError, match="300 open attempts it is too large for MongoDB"):
            await store.update(key, open_pending(clock.now(), *(f"r{number}" for number in range(300))))
        await store.update(key, open_pending(clock.now(), "r1"))
        (view,) = await store.jobs(JobQuery(keys=frozenset((key,))))
        assert view.damage is None
        assert view.record is not None
        assert len(view.record.attempts) == 1

    play(url, act)
