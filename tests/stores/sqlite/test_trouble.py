"""Trouble with the file: nothing is written by halves, and the store works again when the trouble is over."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Coroutine
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot.engine.plan_definition import PlanDeclared
from foliot.engine.planner import plan_due, plan_ended
from foliot.errors import NodeBuriedError, StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.decision import Decision, Happening
from foliot.model.job import Job
from foliot.model.state import Node, Record
from foliot.protocols import Changes, Claimed, JobQuery
from foliot.schedules import Once
from foliot.stores.sqlite import SqliteStore
from foliot.stores.sqlite.session import SqliteSession
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, declare_at, end, ending_of, some_jobs, start_due, untouched

CLOCK = ManualClock()


async def declare(store: SqliteStore, count: int, base: str | None = None, revision: str = "r1") -> None:
    await store.reconcile(
        SOURCE, base, revision, Changes(some_jobs(count)),
        declared=declare_at(CLOCK.now(), CLOCK.now()), removed=untouched,
    )  # fmt: skip


def test_on_a_full_disk_nothing_is_claimed_that_cannot_be_recorded(tmp_path: Path) -> None:
    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            await store.join(Node("a"))
            await declare(store, 600)
            await limit_pages(store, 0)
            with pytest.raises(StoreUnavailableError, match="full"):
                await store.claim("a", CLOCK.now(), {"default": 600}, start_due, "claim")
            with pytest.raises(StoreUnavailableError, match="full"):
                await declare(store, 5000, "r1", "r2")
            assert await store.held("a") == ()
            assert (await store.overview()).jobs == 600
            assert await store.revision(SOURCE) == "r1"
            await limit_pages(store, 1_000_000)
            claimed = await store.claim("a", CLOCK.now(), {"default": 600}, start_due, "claim")
            assert len(claimed.runs) == 600
            endings = [ending_of(attempt, CLOCK.now()) for _, attempt in claimed.runs]
            assert not (await store.finish("a", endings, CLOCK.now(), end)).refused

    asyncio.run(act())
    check(tmp_path)


async def limit_pages(store: SqliteStore, count: int) -> None:
    """As if the disk had so much room; no fewer than are used."""

    def limit(session: SqliteSession) -> None:
        session.connection.execute(f"PRAGMA max_page_count = {max(count, 1)}")

    await store._writer.call("limit", limit)


def check(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "jobs.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_file_that_others_keep_locked_is_unavailable_and_then_not(tmp_path: Path) -> None:
    async def act() -> None:
        path = tmp_path / "jobs.db"
        async with SqliteStore(path, CLOCK, lease=timedelta(seconds=0.2)) as store:
            await store.join(Node("a"))
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                with pytest.raises(StoreUnavailableError, match="locked"):
                    await store.renew("a")
                assert (await store.overview()).nodes == ("a",), "questions are answered all the same"
                other.execute("ROLLBACK")
            assert (await store.renew("a")).open_count == 0

    asyncio.run(act())


def test_a_damaged_file_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"

    async def act() -> None:
        async with SqliteStore(path, CLOCK) as store:
            await declare(store, 50)

    asyncio.run(act())
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(StoreError, match="damaged") as trouble:
        asyncio.run(ask(path))
    assert not isinstance(trouble.value, StoreUnavailableError), "trying again would not help"


async def ask(path: Path) -> None:
    async with SqliteStore(path, CLOCK) as store:
        await store.jobs(JobQuery())


def test_a_state_whose_job_is_not_there_is_in_nobodys_way(tmp_path: Path) -> None:
    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            await store.join(Node("a"))
            await declare(store, 3)
            with closing(sqlite3.connect(tmp_path / "jobs.db")) as other, other:
                other.execute("DELETE FROM jobs WHERE key = ?", (f"{SOURCE}/job-0000",))
            for name in ("job-0001", "job-0002"):
                claimed = await store.claim("a", CLOCK.now(), {"default": 1}, start_due, name)
                assert [job.name for job, _ in claimed.runs] == [name]
            assert (await store.wakes(("default",))).first is None
            assert (await store.overview()).damaged == 1

    asyncio.run(act())


def test_a_job_that_has_forgotten_its_newest_run_is_set_aside_and_the_others_go_on(tmp_path: Path) -> None:
    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            await store.join(Node("a"))
            await declare(store, 3)
            (first,) = (await store.claim("a", CLOCK.now(), {"default": 1}, start_due, "first")).runs
            await store.finish("a", [ending_of(first.attempt, CLOCK.now())], CLOCK.now(), end)
            with closing(sqlite3.connect(tmp_path / "jobs.db")) as other, other:
                other.execute(
                    "UPDATE states SET newest_at = NULL, wake_at = newest_at WHERE newest_at IS NOT NULL"
                )
            claimed = await store.claim("a", CLOCK.now(), {"default": 5}, start_due, "rest")
            assert [job.name for job, _ in claimed.runs] == ["job-0001", "job-0002"]
            assert [event.job for event in claimed.events if event.what is Happening.SET_ASIDE] == [
                first.job.key
            ]

    asyncio.run(act())


@pytest.mark.parametrize("is_opened_anew", [False, True])
def test_one_of_a_herd_that_has_forgotten_its_newest_run_is_set_aside(
    tmp_path: Path,
    is_opened_anew: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """A claim that clashes is repeated with care; the first claim of a store is careful by itself."""
    later = CLOCK.now() + timedelta(minutes=1)

    async def claim(store: SqliteStore, room: int, claim_id: str) -> Claimed:
        return await store.claim("a", later, {"default": room}, plan_due, claim_id)

    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            await store.join(Node("a"))
            changes = Changes(some_jobs(3, schedule=Once(later)))
            await store.reconcile(
                SOURCE, None, "r1", changes, declared=PlanDeclared(CLOCK.now()), removed=untouched
            )
            (first,) = (await claim(store, 1, "first")).runs
            endings = [first.ending(Outcome.SUCCEEDED, later, later)]
            assert not (await store.finish("a", endings, later, plan_ended)).refused
            with closing(sqlite3.connect(tmp_path / "jobs.db")) as other, other:
                other.execute("""
                    UPDATE states SET newest_at = NULL, served_until = NULL, wake_at = newest_at,
                    next_at = newest_at WHERE newest_at IS NOT NULL
                """)
            if not is_opened_anew:
                await rest(store, first.job.key)
        if is_opened_anew:
            async with SqliteStore(tmp_path / "jobs.db", CLOCK) as again:
                await again.join(Node("a"))
                await rest(again, first.job.key)

    async def rest(store: SqliteStore, forgotten: str) -> None:
        claimed = await claim(store, 5, "rest")
        assert [job.name for job, _ in claimed.runs] == ["job-0001", "job-0002"]
        assert [event.job for event in claimed.events if event.what is Happening.SET_ASIDE] == [forgotten]

    asyncio.run(act())


def test_what_is_no_database_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    path.write_text("these are not the bytes that you are looking for " * 100)
    with pytest.raises(StoreError, match="not a database"):
        asyncio.run(ask(path))
    assert path.read_text().startswith("these are not")


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError):
        asyncio.run(ask(tmp_path / "nowhere" / "jobs.db"))


def test_a_store_that_is_not_open_says_so(tmp_path: Path) -> None:
    async def act() -> None:
        store = SqliteStore(tmp_path / "jobs.db", CLOCK)
        with pytest.raises(StoreError, match="not open"):
            await store.overview()
        async with store:
            await store.overview()
        with pytest.raises(StoreError, match="not open"):
            await store.overview()

    asyncio.run(act())


# -- calls that share a transaction ----------------------------------------------------------------


def test_calls_that_wait_are_committed_together_and_one_that_fails_undoes_its_own_work_only(
    tmp_path: Path,
) -> None:
    points: list[str] = []

    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK, failpoint=points.append) as store:
            await store.join(Node("a"))
            await declare(store, 10)
            entered, gate = asyncio.Event(), asyncio.Event()
            loop = asyncio.get_running_loop()
            held_up = asyncio.ensure_future(
                store._writer.call(
                    "gate", lambda _: asyncio.run_coroutine_threadsafe(_wait(entered, gate), loop).result()
                )
            )
            await entered.wait()
            points.clear()
            calls: list[Coroutine[Any, Any, Any]] = [
                store.claim("a", CLOCK.now(), {"default": 3}, start_due, "one"),
                store.renew("nobody"),
                store.reconcile(
                    SOURCE, "r1", "r2", Changes(some_jobs(500)), declared=_fail_at_last, removed=untouched
                ),
                store.claim("a", CLOCK.now(), {"default": 2}, start_due, "two"),
            ]
            waiting = asyncio.gather(*calls, return_exceptions=True)
            await CLOCK.settle()
            gate.set()
            await held_up
            one, buried, failed, two = await waiting
            assert isinstance(one, Claimed)
            assert isinstance(two, Claimed)
            assert (len(one.runs), len(two.runs)) == (3, 2)
            assert isinstance(buried, NodeBuriedError)
            assert isinstance(failed, ArithmeticError)
            assert len(await store.held("a")) == 5
            assert ((await store.overview()).jobs, await store.revision(SOURCE)) == (10, "r1")

    asyncio.run(act())
    verbs = ["claim", "renew", "reconcile", "claim"]
    together = [f"{verb}:before_commit" for verb in verbs] + [f"{verb}:after_commit" for verb in verbs]
    assert points[points.index(together[0]) :][: len(together)] == together


async def _wait(entered: asyncio.Event, gate: asyncio.Event) -> None:
    entered.set()
    await gate.wait()


def _fail_at_last(job: Job, record: Record | None) -> Decision:
    if job.name == "job-0499":
        raise ArithmeticError("the contract says so")
    return declare_at(CLOCK.now(), CLOCK.now())(job, record)


def test_who_stops_waiting_harms_nobody(tmp_path: Path) -> None:
    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            await store.join(Node("a"))
            await declare(store, 300)
            for number in range(20):
                claim = store.claim("a", CLOCK.now(), {"default": 10}, start_due, f"claim-{number}")
                task = asyncio.ensure_future(claim)
                await asyncio.wait([task], timeout=0.0005 * number)
                task.cancel()
            count = (await store.renew("a")).open_count  # behind all that was asked before
            held = await store.held("a")
            assert len({attempt.key for attempt in held}) == len(held) == count
            assert count % 10 == 0, "each claim was done as a whole or not at all"

    asyncio.run(act())
    check(tmp_path)
