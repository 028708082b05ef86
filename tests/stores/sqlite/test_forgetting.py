"""Forgetting, where counts and rows are not as this program writes them: it goes on, and loses nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from foliot.model.attempt import Attempt, AttemptState, Outcome
from foliot.model.policy import Keep, Policy
from foliot.model.state import Node, Skip
from foliot.protocols import Changes, JobQuery, RunQuery, SkipQuery
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.history import ended, write_down
from foliot.testing.contract.sample import SOURCE, a_job, declare_at, start_due, untouched

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Scene:
    """A store with jobs a, b and c, which keep little; and its file."""

    def __init__(self, store: SqliteStore, path: Path, clock: ManualClock) -> None:
        self.store, self.path, self.clock = store, path, clock

    async def declare(self, keep: Keep, revision: str = "r1", base: str | None = None) -> None:
        jobs = tuple(a_job(name, policy=Policy(keep=keep)) for name in "abc")
        declared = declare_at(NOW + 99 * HOUR, NOW)
        await self.store.reconcile(
            SOURCE, base, revision, Changes(jobs), declared=declared, removed=untouched
        )

    async def run(self, name: str, hours: range) -> list[Attempt]:
        past = [ended(NOW - n * HOUR)._replace(job=f"{SOURCE}/{name}") for n in hours]
        await self.store.update(f"{SOURCE}/{name}", write_down(past))
        return past

    def spoil(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    async def prune(self, now: datetime = NOW) -> int:
        total = 0
        for _ in range(100):
            forgotten, more = await self.store.prune(now, 1000)
            total += forgotten
            if not more:
                return total
        raise AssertionError("it never ends")

    async def kept(self, name: str) -> int:
        return len(await self.store.runs(RunQuery(job=f"{SOURCE}/{name}", limit=1000)))


def play(path: Path, act: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        clock = ManualClock(NOW)
        async with SqliteStore(path, clock, synchronous="OFF") as store:
            await act(Scene(store, path, clock))

    asyncio.run(run())


def test_a_state_without_its_job_is_not_in_the_way(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.declare(Keep(last=2, days=None))
        for name in "abc":
            await scene.run(name, range(20, 0, -1))
        scene.spoil("DELETE FROM jobs WHERE job_no = 1", "UPDATE states SET trim_at = 0, look_at = 0")
        await scene.prune()
        assert [await scene.kept(name) for name in "bc"] == [2, 2]

    play(tmp_path / "jobs.db", act)


@pytest.mark.parametrize("last", [2**62, 2**63 - 1])
def test_whoever_keeps_as_much_as_there_is_may_say_so_with_a_number(tmp_path: Path, last: int) -> None:
    async def act(scene: Scene) -> None:
        await scene.declare(Keep(last=last, days=None))
        await scene.run("a", range(9, 0, -1))
        assert await scene.prune() == 0
        assert await scene.kept("a") == 9

    play(tmp_path / "jobs.db", act)


def test_what_an_older_program_ran_last_is_not_the_oldest(tmp_path: Path) -> None:
    """It writes no numbers: of a store that both write to, time tells."""

    async def act(scene: Scene) -> None:
        await scene.declare(Keep(last=5, days=None))
        past = await scene.run("a", range(30, 0, -1))
        newest = int((NOW - 10 * HOUR).timestamp() * 1_000_000)
        scene.spoil(
            f"UPDATE attempts SET seq = 0 WHERE scheduled_for >= {newest}",  # noqa: S608 - a number of ours
            "UPDATE states SET opened = 20, trim_at = 0",
        )
        await scene.prune()
        kept = await scene.store.runs(RunQuery(job=f"{SOURCE}/a", limit=99))
        assert kept == tuple(reversed(past[-5:]))

    play(tmp_path / "jobs.db", act)


def test_skips_of_before_they_were_counted_are_forgotten(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.declare(Keep(last=2, days=3))
        key = f"{SOURCE}/a"
        skips = [Skip(key, NOW - n * 24 * HOUR, NOW - n * 24 * HOUR, "") for n in range(60, 40, -1)]
        await scene.store.update(key, write_down(skips=skips))
        scene.spoil("UPDATE states SET skipped = 0, opened = 1, look_at = 0 WHERE job_no = 1")
        await scene.prune()
        assert await scene.store.skips(SkipQuery(key)) == ()

    play(tmp_path / "jobs.db", act)


def test_what_was_open_at_a_look_is_forgotten_when_it_has_ended(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.declare(Keep(last=2, days=None))
        done = await scene.run("a", range(40, 0, -1))
        waiting = [
            a._replace(state=AttemptState.PENDING, outcome=None, finished_at=None, number=2) for a in done
        ]
        key = f"{SOURCE}/a"
        await scene.store.update(key, write_down(waiting))
        await scene.prune()
        await scene.store.update(
            key, write_down([ended(a.scheduled_for, Outcome.FAILED, 2) for a in waiting])
        )
        assert await scene.kept("a") > 30
        await scene.prune(NOW + HOUR)
        assert await scene.kept("a") <= 3

    play(tmp_path / "jobs.db", act)


@pytest.mark.parametrize(
    "damage", ["opened = 9223372036854775807", "opened = 'x'", "skipped = 'x'", "look_at = x'ff'"]
)
def test_counts_that_cannot_be_right_concern_one_job(tmp_path: Path, damage: str) -> None:
    async def act(scene: Scene) -> None:
        await scene.declare(Keep(last=2, days=None))
        await scene.run("a", range(9, 0, -1))
        scene.spoil(f"UPDATE states SET {damage} WHERE job_no = 2")  # noqa: S608 - of ours
        await scene.prune()
        assert await scene.kept("a") == 2
        later = NOW + 100 * HOUR
        await scene.store.join(Node("n"))
        claimed = await scene.store.claim("n", later, {"default": 9}, start_due, "c")
        started = {attempt.job for _, attempt in claimed.runs}
        assert {f"{SOURCE}/a", f"{SOURCE}/c"} <= started, "others are not concerned"
        await scene.declare(Keep(last=2, days=None), "r2", "r1")
        views = await scene.store.jobs(JobQuery())
        assert [view.damage for view in views] == [None] * 3, "declared again, it counts anew"

    play(tmp_path / "jobs.db", act)
