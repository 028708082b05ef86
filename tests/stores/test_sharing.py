"""Two handles of one store: what one remembers of its claims is never older than what is written."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from foliot.engine.planner import plan_ended
from foliot.model.attempt import Attempt, AttemptState
from foliot.model.job import Action
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, RunQuery, Store
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import (
    HOUR,
    SOURCE,
    a_job,
    change,
    declare_at,
    end_and_count,
    ending_of,
    forget,
    open_pending,
    request_cancel,
    start_due,
    untouched,
)
from foliot.testing.contract.stage import OpenStore
from stores.postgres.opening import open_postgres
from stores.sqlite.opening import open_sqlite

CLOCK = ManualClock()
KEY = f"{SOURCE}/job"


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest) -> OpenStore:
    """Opens the same store each time."""
    if request.param == "sqlite":
        path = request.getfixturevalue("tmp_path") / "jobs.db"
        return lambda: open_sqlite(str(path), CLOCK)
    url = request.getfixturevalue("url")
    return lambda: open_postgres(url, CLOCK)


async def claim_one(store: Store) -> Attempt:
    now = CLOCK.now()
    await store.join(Node("a"))
    await store.reconcile(
        SOURCE, None, "r1", Changes((a_job(),)), declared=declare_at(now, now), removed=untouched
    )
    (run,) = (await store.claim("a", now, {"default": 1}, start_due, "claim")).runs
    return run.attempt


async def pause(store: Store) -> None:
    await store.update(KEY, change(paused_at=CLOCK.now()))


async def cancel(store: Store) -> None:
    await store.update(KEY, request_cancel)


async def ask(store: Store) -> None:
    await store.update(KEY, open_pending(CLOCK.now() + HOUR, "please"))


@pytest.mark.parametrize("handle", ["the same", "another"])
@pytest.mark.parametrize("meddle", [pause, cancel, ask])
def test_a_finish_sees_what_was_written_since_its_claim(
    open_store: OpenStore, meddle: Callable[[Store], Awaitable[None]], handle: str
) -> None:
    async def act() -> None:
        async with open_store() as ours, open_store() as theirs:
            attempt = await claim_one(ours)
            await meddle(theirs if handle == "another" else ours)
            (before,) = await ours.jobs(JobQuery())
            assert before.record is not None
            ending = ending_of(attempt, CLOCK.now())
            assert not (await ours.finish("a", [ending], CLOCK.now(), end_and_count)).refused
            (after,) = await theirs.jobs(JobQuery())
            assert after.record is not None
            state = before.record.state
            assert after.record.state == state._replace(token=state.token + 1, failures_in_row=1)
            assert after.record.attempts == before.record.attempts[1:]

    asyncio.run(act())


@pytest.mark.parametrize("handle", ["the same", "another"])
def test_what_is_gone_since_its_claim_cannot_be_finished(open_store: OpenStore, handle: str) -> None:
    async def act() -> None:
        async with open_store() as ours, open_store() as theirs:
            attempt = await claim_one(ours)
            await (theirs if handle == "another" else ours).update(KEY, forget)
            ending = ending_of(attempt, CLOCK.now())
            assert len((await ours.finish("a", [ending], CLOCK.now(), plan_ended)).refused) == 1
            assert await theirs.runs(RunQuery()) == ()

    asyncio.run(act())


def test_what_is_to_be_cancelled_is_told_as_such_when_a_claim_is_repeated(open_store: OpenStore) -> None:
    async def act() -> None:
        async with open_store() as store:
            attempt = await claim_one(store)
            await cancel(store)
            again = await store.claim("a", CLOCK.now(), {"default": 1}, start_due, "claim")
            assert [a for _, a in again.runs] == [attempt._replace(state=AttemptState.CANCELLING)]

    asyncio.run(act())


@pytest.mark.parametrize("handle", ["the same", "another"])
def test_a_definition_that_was_remembered_is_not_used_when_it_was_changed(
    open_store: OpenStore, handle: str
) -> None:
    async def act() -> None:
        async with open_store() as ours, open_store() as theirs:
            attempt = await claim_one(ours)
            await ours.finish("a", [ending_of(attempt, CLOCK.now())], CLOCK.now(), end_and_count)
            now = CLOCK.now()
            changed = a_job(action=Action(kind="test", data={"n": 2}))
            await (theirs if handle == "another" else ours).reconcile(
                SOURCE, "r1", "r2", Changes((changed,)), declared=declare_at(now, now), removed=untouched
            )
            ((job, _),) = (await ours.claim("a", now, {"default": 1}, start_due, "next")).runs
            assert job == changed

    asyncio.run(act())
