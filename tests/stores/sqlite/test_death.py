"""Real processes that are killed: their locks prove it, and no step of a verb is done by halves."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.clock import SystemClock
from foliot.engine.planner import plan_lost
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import Changes, RunQuery
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, start_due, untouched

pytestmark = pytest.mark.prove

CLOCK = ManualClock()
PROGRAM = Path(__file__).with_name("doomed.py")


@contextmanager
def doomed(path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that joins as `doomed`, claims, says so, and waits for its death."""
    program = [sys.executable, str(PROGRAM), str(path), *arguments]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


async def declare(store: SqliteStore, count: int) -> None:
    await store.reconcile(
        SOURCE, None, "r1", Changes(some_jobs(count)),
        declared=declare_at(CLOCK.now(), CLOCK.now()), removed=untouched,
    )  # fmt: skip


def locks(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if "-node-" in path.name]


def test_what_a_killed_process_held_is_recovered_at_once(tmp_path: Path) -> None:
    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            await declare(store, 5)
            with doomed(tmp_path / "jobs.db") as process:
                await store.join(Node("heir"))
                assert (await store.recover(100, CLOCK.now(), plan_lost)).events == (), "it lives"
                assert (await store.overview()).nodes == ("doomed", "heir")
                assert len(await store.held("doomed")) == 5
                process.kill()
                process.wait()
            await store.recover(100, CLOCK.now(), plan_lost)
            lost = await store.runs(RunQuery(outcome=Outcome.LOST))
            assert len(lost) == 5, "no time has passed: the lock has proved it"
            assert (await store.overview()).nodes == ("heir",)
            await store.recover(100, CLOCK.now(), plan_lost)
            assert len(locks(tmp_path)) == 1, "the lock file of the dead is gone"
            await store.leave("heir")
            assert locks(tmp_path) == []

    asyncio.run(act())


@pytest.mark.parametrize("manner", ["os.fork", "fork", "spawn", "forkserver"])
def test_a_child_that_outlives_its_node_does_not_keep_its_lock(tmp_path: Path, manner: str) -> None:
    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            await declare(store, 5)
            await store.join(Node("heir"))
            with forking(tmp_path / "jobs.db", manner) as (process, child):
                await store.recover(100, CLOCK.now(), plan_lost)
                assert len(await store.held("doomed")) == 5, "the child has not taken the lock away"
                process.kill()
                process.wait()
                os.kill(child, 0)  # it lives
                async with asyncio.timeout(20):  # the child closes the file when its turn comes
                    while not (await store.recover(100, CLOCK.now(), plan_lost)).events:
                        await SystemClock().wait(timedelta(milliseconds=20))
                assert len(await store.runs(RunQuery(outcome=Outcome.LOST))) == 5

    asyncio.run(act())


@contextmanager
def forking(path: Path, manner: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that joins as `doomed`, claims, and has a child; both end with the test."""
    program = [sys.executable, str(PROGRAM.with_name("forking.py")), str(path), manner]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own
        child = 0
        try:
            assert process.stdout is not None
            child = int(process.stdout.readline())
            yield process, child
        finally:
            process.kill()
            with suppress(ProcessLookupError):  # it ends by itself where nobody is left who started it
                os.kill(child or process.pid, signal.SIGKILL)


def test_a_process_that_is_only_stopped_is_not_dead(tmp_path: Path) -> None:
    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            await declare(store, 5)
            with doomed(tmp_path / "jobs.db") as process:
                process.send_signal(signal.SIGSTOP)
                await store.recover(100, CLOCK.now(), plan_lost)
                assert len(await store.held("doomed")) == 5
                process.send_signal(signal.SIGCONT)

    asyncio.run(act())


def test_nodes_of_one_process_live_and_die_by_themselves(tmp_path: Path) -> None:
    async def act() -> None:
        path = tmp_path / "jobs.db"
        async with SqliteStore(path, CLOCK) as first:
            await first.join(Node("first"))
            async with SqliteStore(path, CLOCK) as second:
                await second.join(Node("second"))
                await first.recover(100, CLOCK.now(), plan_lost)
                assert (await first.overview()).nodes == ("first", "second")
            await first.recover(100, CLOCK.now(), plan_lost)
            assert (await first.overview()).nodes == ("first",), "a store that is closed lets its nodes die"

    asyncio.run(act())


def test_lock_files_that_nobody_knows_are_swept_away(tmp_path: Path) -> None:
    async def act() -> None:
        stray = tmp_path / "jobs.db-node-0123456789abcdef"
        stray.touch()
        async with SqliteStore(tmp_path / "jobs.db", CLOCK) as store:
            await store.join(Node("a"))
            async with SqliteStore(tmp_path / "jobs.db", CLOCK):
                assert len(locks(tmp_path)) == 1
                assert not stray.exists()

    asyncio.run(act())


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("verb", ["migrate", "join", "reconcile", "claim", "finish", "prune", "renew"])
def test_a_kill_at_any_step_leaves_all_or_nothing(tmp_path: Path, verb: str, moment: str) -> None:
    path = tmp_path / "jobs.db"
    with doomed(path, f"{verb}:{moment}_commit") as process:
        assert process.wait(60) == -signal.SIGKILL
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

    async def act() -> None:
        async with SqliteStore(path, CLOCK) as store:
            overview = await store.overview()
            done = STEPS.index(verb) + (moment == "after")
            assert len(overview.nodes) == (done > STEPS.index("join"))
            assert overview.jobs == 5 * (done > STEPS.index("reconcile"))
            runs = await store.runs(RunQuery())
            assert len(runs) == 5 * (done > STEPS.index("claim"))
            assert sum(not attempt.is_open for attempt in runs) == 5 * (done > STEPS.index("finish"))
            await store.join(Node("heir"))
            if not overview.jobs:
                await declare(store, 5)
            await store.recover(100, CLOCK.now(), plan_lost)
            claimed = await store.claim("heir", CLOCK.now(), {"default": 100}, start_due, "heir's")
            assert len(claimed.runs) == 5 * (done <= STEPS.index("finish"))

    asyncio.run(act())


STEPS = ["migrate", "join", "reconcile", "claim", "finish", "prune", "renew"]
