"""The file is removed or replaced under a node: it says so, and never goes on with what nobody else sees."""

# ruff: noqa: ASYNC240 - nobody else is on the loop

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from foliot.engine.engine import Engine
from foliot.engine.plan_command import RunNow, plan_command
from foliot.engine.reconciler import reconcile
from foliot.engine.settings import Settings
from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, Result, Run, Snapshot
from foliot.schedules import Every
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, start_due, untouched
from programs import Program

CLOCK = ManualClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def on(folder: Path, scene: Callable[[SqliteStore, Path], Coroutine[Any, Any, None]]) -> None:
    """Play a scene with a store whose node `a` lives, and has three jobs that are due."""

    async def play() -> None:
        path = folder / "jobs.db"
        async with SqliteStore(path, CLOCK) as store:
            await store.join(Node("a"))
            await store.reconcile(
                SOURCE, None, "r1", Changes(some_jobs(3)),
                declared=declare_at(CLOCK.now(), CLOCK.now()), removed=untouched,
            )  # fmt: skip
            await store.jobs(JobQuery())
            await store.wakes(["default"])
            await scene(store, path)

    asyncio.run(play())


def all_of(path: Path) -> list[Path]:
    """The database, its log and the log's index."""
    return [path, *(path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-shm"))]


async def refusals(store: SqliteStore) -> list[StoreError]:
    """How the store refuses what a node asks for: nothing is done."""
    asked: list[Coroutine[Any, Any, Any]] = [
        store.claim("a", CLOCK.now(), {"default": 1}, start_due, "claim"),
        store.renew("a"),
        store.wakes(["default"]),
        store.jobs(JobQuery()),
    ]
    found = []
    for ask in asked:
        with pytest.raises(StoreError) as refusal:
            await ask
        found.append(refusal.value)
    return found


async def assert_gone(store: SqliteStore) -> None:
    for refusal in await refusals(store):
        assert isinstance(refusal, StoreUnavailableError)
        assert "not there any more" in str(refusal)


async def assert_replaced(store: SqliteStore) -> None:
    for refusal in await refusals(store):
        assert not isinstance(refusal, StoreUnavailableError), "trying again would not help"
        assert "was replaced" in str(refusal)
        assert "restart" in str(refusal.hint)


async def assert_well(store: SqliteStore) -> None:
    assert (await store.renew("a")).open_count == 0
    assert len((await store.claim("a", CLOCK.now(), {"default": 9}, start_due, "claim")).runs) == 3


def test_a_file_that_was_removed_is_not_made_anew(folder: Path) -> None:
    async def scene(store: SqliteStore, path: Path) -> None:
        path.unlink()
        await assert_gone(store)
        assert not path.exists()
        with pytest.raises(StoreUnavailableError):  # SQLite's own trouble makes the store connect again
            await store._writer.call("trouble", _fail)
        await assert_gone(store)
        assert not path.exists()

    on(folder, scene)


def _fail(_: object) -> None:
    raise sqlite3.OperationalError


def test_another_file_is_never_taken_for_the_one_that_was_opened(folder: Path) -> None:
    async def scene(store: SqliteStore, path: Path) -> None:
        for file in all_of(path):
            file.unlink()
        async with SqliteStore(path, CLOCK) as other:
            await assert_replaced(store)
            assert (await other.overview()).jobs == 0, "nothing was written to it"
            await assert_replaced(store)

    on(folder, scene)


def test_a_file_that_was_moved_away_and_back_goes_on(folder: Path) -> None:
    async def scene(store: SqliteStore, path: Path) -> None:
        for file in all_of(path):
            file.rename(file.with_name(f"{file.name}.away"))
        await assert_gone(store)
        for file in all_of(path):
            file.with_name(f"{file.name}.away").rename(file)
        await assert_well(store)

    on(folder, scene)


def test_the_database_alone_may_be_away_for_a_while(folder: Path) -> None:
    async def scene(store: SqliteStore, path: Path) -> None:
        path.rename(path.with_suffix(".away"))
        await assert_gone(store)
        path.with_suffix(".away").rename(path)
        await assert_well(store)

    on(folder, scene)


@pytest.mark.parametrize("which", [1, 2])
def test_without_its_log_the_file_is_not_written(folder: Path, which: int) -> None:
    async def scene(store: SqliteStore, path: Path) -> None:
        all_of(path)[which].unlink()
        await assert_gone(store)

    on(folder, scene)


def test_a_log_that_somebody_else_made_is_another_file(folder: Path) -> None:
    async def scene(store: SqliteStore, path: Path) -> None:
        for file in all_of(path)[1:]:
            file.unlink()
            file.touch()
        await assert_replaced(store)

    on(folder, scene)


def test_a_folder_that_was_removed_takes_the_file_with_it(folder: Path) -> None:
    async def scene(store: SqliteStore, path: Path) -> None:
        shutil.rmtree(path.parent)
        await assert_gone(store)
        path.parent.mkdir()
        path.touch()
        await assert_replaced(store)
        assert path.stat().st_size == 0

    on(folder, scene)


def test_a_link_that_leads_elsewhere_is_another_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(folder / "jobs.db")

    async def scene(_: SqliteStore, path: Path) -> None:
        async with SqliteStore(tmp_path / "link.db", CLOCK) as store:
            await store.renew("a")
            (folder / "other.db").touch()
            (tmp_path / "link.db").unlink()
            (tmp_path / "link.db").symlink_to(folder / "other.db")
            await assert_replaced(store)
            (tmp_path / "link.db").unlink()
            (tmp_path / "link.db").symlink_to(path)
            await assert_well(store)

    on(folder, scene)


# -- nodes -----------------------------------------------------------------------------------------


class Endless:
    """Runs what it is given until it is asked to end."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.ended: list[Run] = []

    def start(self, run: Run, ended: Callable[[Run, Result], None]) -> Callable[[], None]:
        self.runs.append(run)

        def end() -> None:
            self.ended.append(run)
            ended(run, Result(Outcome.CANCELLED))

        return end


def test_a_node_whose_file_is_away_waits_and_one_whose_file_was_replaced_ends_what_it_runs(
    folder: Path,
) -> None:
    async def scene() -> None:
        clock, endless, ids, path = ManualClock(), Endless(), count(), folder / "jobs.db"
        job = Job(source="code", name="a", schedule=Every(timedelta(days=1)), action=Action(kind="x"))
        async with SqliteStore(path, clock) as store:
            await reconcile(store, "code", Snapshot("r1", (job,)), clock.now())
            await store.update("code/a", lambda record: plan_command(record, RunNow("go"), clock.now()))
            engine = Engine(
                store, {"x": endless}, clock=clock,
                settings=Settings(slots={"default": 2}, poll=timedelta(seconds=1)),
                new_id=lambda: f"id-{next(ids)}",
            )  # fmt: skip
            life = asyncio.ensure_future(engine.run())
            await until(clock, lambda: bool(endless.runs))

            path.rename(path.with_suffix(".away"))
            for _ in range(50):
                await clock.advance(timedelta(seconds=0.1))
                with pytest.raises(StoreUnavailableError):
                    await store.overview()
            assert not life.done()
            assert endless.ended == [], "nobody else can find the file and start them once more"

            for file in all_of(path)[1:]:
                file.unlink()
            async with SqliteStore(path, clock):
                await until(clock, life.done)
            assert endless.ended == endless.runs, "whoever uses the new file may run them, too"
            with pytest.raises(StoreError, match="was replaced"):
                await life

    asyncio.run(scene())


async def until(clock: ManualClock, is_so: Callable[[], bool]) -> None:
    """Let time pass, and the threads of the store do their work, until something is so."""
    for _ in range(10_000):
        if is_so():
            return
        await clock.advance(timedelta(seconds=0.01))
        await asyncio.to_thread(lambda: None)
    raise AssertionError("that did not happen")


PROGRAM = """
import asyncio, sys
from foliot import Every, Foliot

app = Foliot("sqlite:///jobs.db", name="app", lease="3s")

@app.job(Every("1s"), name="tick")
async def tick(run):
    print("ran", run.key, flush=True)

asyncio.run(app.run())
"""


def test_of_two_processes_only_that_of_the_new_file_goes_on(folder: Path) -> None:
    (folder / "ticking.py").write_text(PROGRAM)
    with Program(folder, sys.executable, "ticking.py") as first:
        first.read_until("ran")
        for file in all_of(folder / "jobs.db"):
            file.unlink()
        with Program(folder, sys.executable, "ticking.py") as second:
            second.read_until("ran")
            first.read_until("was replaced")
            first.read_to_end()
            assert first.process.wait(60) != 0
            second.read_until("ran")
            ran = [
                {line for line in lines if line.startswith("ran")} for lines in (first.lines, second.lines)
            ]
            assert not ran[0] & ran[1], "no occurrence ran on both"
