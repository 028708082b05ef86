"""Bytes that are not UTF-8: whoever they belong to is set aside or shown, and all others go on (rule 6)."""

# ruff: noqa: S608 - our own words

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from foliot.engine.plan_command import RunNow, plan_command
from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.engine.reconciler import reconcile
from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.decision import Happening
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.protocols import JobQuery, Output, Pruned, RunQuery, SkipQuery, Snapshot
from foliot.schedules import Every
from foliot.stores.sqlite import SqliteStore
from foliot.stores.sqlite.inspection import find_flaws, look_at_schema
from foliot.testing.clock import ManualClock

HOUR = timedelta(hours=1)
BAD, GOOD = "code/b", ("code/a", "code/c")


class Scene:
    """A file of three jobs that run each hour, two of which have succeeded once and one is open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = ManualClock()
        self.store = SqliteStore(path, self.clock)
        self._claims = count()

    async def begin(self) -> None:
        jobs = tuple(
            Job(source="code", name=name, schedule=Every(HOUR), action=Action(kind="x", data={"n": name}))
            for name in "abc"
        )
        await reconcile(self.store, "code", Snapshot("r1", jobs), self.clock.now())
        await self.store.join(Node("n1", "name", ("default",), ("x",)))
        await self.clock.advance(HOUR)
        for attempt in await self.claim():
            await self.finish(attempt)

    async def claim(self, node: str = "n1") -> list[Attempt]:
        await self.store.renew(node)
        claimed = await self.store.claim(
            node, self.clock.now(), {"default": 9}, plan_due, f"claim-{next(self._claims)}"
        )
        self.events = claimed.events
        return [attempt for _, attempt in claimed.runs]

    async def finish(self, attempt: Attempt) -> None:
        now = self.clock.now()
        ending = Ending(
            attempt.job, attempt.run_key, attempt.number, attempt.token, Outcome.SUCCEEDED, now, now, None
        )
        finished = await self.store.finish("n1", [ending], now, plan_ended)
        assert finished.refused == ()

    def spoil(self, change: str) -> None:
        """Put bytes into the file that are no text: ~ in the change, of one job's rows only."""
        with closing(sqlite3.connect(self.path)) as other, other:
            other.execute(change.replace("~", "CAST(X'7B22FF22' AS TEXT)"))

    async def damaged(self) -> list[str]:
        views = await self.store.jobs(JobQuery(with_removed=True))
        assert len(views) == 3
        return [view.key for view in views if view.problem]


def on(path: Path, play: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        scene = Scene(path)
        async with scene.store:
            await scene.begin()
            await asyncio.wait_for(play(scene), 60)

    asyncio.run(run())


NUMBER = "(SELECT job_no FROM jobs WHERE key = 'code/b')"
IN_DEFINITION = {
    "key": f"UPDATE jobs SET key = 'code/b' || ~ WHERE job_no = {NUMBER}",
    "frame": f"UPDATE jobs SET frame = ~ WHERE job_no = {NUMBER}",
    "a byte of the frame": "UPDATE jobs SET frame = CAST(CAST(substr(frame, 1, 40) AS BLOB) || X'FF' || "
    f"CAST(substr(frame, 42) AS BLOB) AS TEXT) WHERE job_no = {NUMBER}",
    "data": f"UPDATE jobs SET data = ~ WHERE job_no = {NUMBER}",
    "a byte of the data": "UPDATE jobs SET data = CAST(CAST('{\"n\":\"' AS BLOB) || X'FC' || "
    f"CAST('\"}}' AS BLOB) AS TEXT) WHERE job_no = {NUMBER}",
    "last_run": f"UPDATE states SET last_run = ~ WHERE job_no = {NUMBER}",
}


@pytest.mark.parametrize("where", IN_DEFINITION)
def test_a_job_with_a_bad_text_is_set_aside_and_the_others_run(tmp_path: Path, where: str) -> None:
    async def play(scene: Scene) -> None:
        scene.spoil(IN_DEFINITION[where])
        await scene.clock.advance(HOUR)
        attempts = await scene.claim()
        assert [attempt.job for attempt in attempts] == list(GOOD)
        [told] = [event.job for event in scene.events if event.what is Happening.SET_ASIDE]
        assert told.startswith(BAD)
        assert await scene.damaged() == [told]
        for attempt in attempts:
            await scene.finish(attempt)
        overview = await scene.store.overview()
        assert (overview.jobs, overview.damaged) == (3, 1)
        assert (await scene.store.wakes(["default"])).first == scene.clock.now() + HOUR

    on(tmp_path / "jobs.db", play)


@pytest.mark.parametrize("name", ["b", "d", "a"])
def test_pages_of_jobs_come_to_an_end(tmp_path: Path, name: str) -> None:
    async def play(scene: Scene) -> None:
        scene.spoil(f"UPDATE jobs SET key = 'code/{name}' || ~ WHERE job_no = {NUMBER}")
        found: list[str] = []
        while page := await scene.store.jobs(JobQuery(after=found[-1] if found else "", limit=1)):
            found += [view.key for view in page]
            assert len(found) <= 3
        assert set(GOOD) <= set(found)

    on(tmp_path / "jobs.db", play)


@pytest.mark.parametrize("where", ["frame", "data", "last_run"])
def test_it_works_again_when_it_is_declared_again(tmp_path: Path, where: str) -> None:
    async def play(scene: Scene) -> None:
        scene.spoil(IN_DEFINITION[where])
        assert await scene.damaged() == [BAD]
        jobs = [
            Job(source="code", name=name, schedule=Every(HOUR), action=Action(kind="x", data={"n": name}))
            for name in "abc"
        ]
        await reconcile(scene.store, "code", Snapshot("r2", tuple(jobs)), scene.clock.now())
        assert await scene.damaged() == []

    on(tmp_path / "jobs.db", play)


def test_all_jobs_of_a_bad_policy_are_set_aside_and_no_others(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        scene.spoil("INSERT INTO policies (policy_no, text) VALUES (99, ~)")
        scene.spoil(f"UPDATE jobs SET policy_no = 99 WHERE job_no = {NUMBER}")
        await scene.clock.advance(HOUR)
        assert [attempt.job for attempt in await scene.claim()] == list(GOOD)
        assert await scene.damaged() == [BAD]

    on(tmp_path / "jobs.db", play)


@pytest.mark.parametrize("column", ["queue", "kind"])
def test_jobs_of_a_bad_lane_are_set_aside_and_shown(tmp_path: Path, column: str) -> None:
    async def play(scene: Scene) -> None:
        scene.spoil("INSERT INTO lanes (lane_no, queue, kind) VALUES (99, 'default', 'x2')")
        scene.spoil(f"UPDATE states SET lane_no = 99 WHERE job_no = {NUMBER}")
        scene.spoil(f"UPDATE lanes SET {column} = ~ WHERE lane_no = 99")
        await scene.clock.advance(HOUR)
        assert [attempt.job for attempt in await scene.claim()] == list(GOOD)
        await scene.store.recover(100, scene.clock.now(), plan_lost)
        assert await scene.damaged() == [BAD]
        assert (await scene.store.overview()).damaged == 1

    on(tmp_path / "jobs.db", play)


@pytest.mark.parametrize("column", ["reason", "error"])
def test_a_bad_text_that_people_read_is_shown(tmp_path: Path, column: str) -> None:
    async def play(scene: Scene) -> None:
        scene.spoil(f"UPDATE attempts SET {column} = ~ WHERE job_no = {NUMBER}")
        shown = [getattr(run, column) for run in await scene.store.runs(RunQuery(job=BAD))]
        assert shown == ['{"\\xff"']
        assert len(await scene.store.runs(RunQuery())) == 3
        await scene.clock.advance(HOUR)
        assert len(await scene.claim()) == 3, "nobody decides by it"

    on(tmp_path / "jobs.db", play)


@pytest.mark.parametrize("column", ["reason", "error", "request"])
def test_an_open_attempt_with_a_bad_text_is_in_nobodys_way(tmp_path: Path, column: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.clock.advance(HOUR)
        attempts = await scene.claim()
        scene.spoil(f"UPDATE attempts SET {column} = ~ WHERE job_no = {NUMBER} AND state < 3")
        for attempt in attempts:
            if attempt.job in GOOD:
                await scene.finish(attempt)
        await scene.store.held("n1")
        await scene.store.runs(RunQuery(is_open=True))
        await scene.clock.advance(HOUR)
        assert {attempt.job for attempt in await scene.claim()} >= set(GOOD)

    on(tmp_path / "jobs.db", play)


def test_a_request_with_a_bad_text_is_left_out_of_the_history(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        now = scene.clock.now()
        await scene.store.update(BAD, lambda record: plan_command(record, RunNow("please"), now))
        [attempt] = await scene.claim()
        await scene.finish(attempt)
        scene.spoil("UPDATE attempts SET request = ~ WHERE request > ''")
        assert [run.job for run in await scene.store.runs(RunQuery())] == ["code/c", BAD, "code/a"]
        await scene.store.runs(RunQuery(job=BAD))
        await scene.clock.advance(timedelta(days=100))
        pruned = Pruned(1)
        for _ in range(20):
            pruned = await scene.store.prune(scene.clock.now(), 100)
        assert pruned.forgotten == 0, "there is an end to it"

    on(tmp_path / "jobs.db", play)


def test_bad_texts_of_skips_outputs_and_sources_are_shown(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        key = (await scene.store.runs(RunQuery(job=BAD)))[0].run_key
        await scene.store.write_outputs([Output(BAD, key, 1, "fine")])
        await scene.store.write_source_status("code", "fine")
        scene.spoil(f"INSERT INTO skips VALUES ({NUMBER}, 1, 2, ~)")
        scene.spoil("UPDATE outputs SET text = ~")
        scene.spoil("UPDATE source_notes SET status = ~")
        [skip] = await scene.store.skips(SkipQuery(BAD))
        output = await scene.store.output(key, 1)
        [source] = await scene.store.sources()
        assert output is not None
        assert skip.reason == output.text == source.status == '{"\\xff"'

    on(tmp_path / "jobs.db", play)


def test_a_source_whose_revision_is_bad_is_reconciled_again(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        scene.spoil("UPDATE sources SET revision = ~")
        await reconcile(scene.store, "code", Snapshot("r1", ()), scene.clock.now())
        assert await scene.store.revision("code") == "r1"

    on(tmp_path / "jobs.db", play)


@pytest.mark.parametrize("column", ["name", "queues", "kinds", "version", "machine", "boot"])
def test_a_node_with_a_bad_text_is_in_nobodys_way(tmp_path: Path, column: str) -> None:
    async def play(scene: Scene) -> None:
        scene.spoil(f"UPDATE nodes SET {column} = ~")
        await scene.store.join(Node("n2"))
        await scene.clock.advance(HOUR)
        assert len(await scene.claim("n2")) == 3
        await scene.store.nodes()
        await scene.store.recover(100, scene.clock.now(), plan_lost)
        assert "n2" in [view.node.id for view in await scene.store.nodes()]

    on(tmp_path / "jobs.db", play)


def test_a_node_whose_id_is_bad_is_buried_in_time(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        await scene.clock.advance(HOUR)
        assert len(await scene.claim()) == 3
        await scene.store.join(Node("n2"))
        scene.spoil("UPDATE node_names SET id = ~ WHERE id = 'n1'")
        await scene.clock.advance(HOUR)
        await scene.store.renew("n2")
        assert (await scene.store.recover(100, scene.clock.now(), plan_lost)).events
        assert (await scene.store.overview()).nodes == ("n2",)
        assert len(await scene.claim("n2")) == 3

    on(tmp_path / "jobs.db", play)


# -- the schema ------------------------------------------------------------------------------------


def spoil_schema(path: Path, change: str) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("PRAGMA writable_schema = ON")
        other.execute(f"UPDATE sqlite_master SET {change}")


@pytest.mark.parametrize(
    "change",
    [
        "sql = CAST(X'435245415445205441424C4520FF' AS TEXT) WHERE name = 'jobs'",
        "name = CAST(X'FF' AS TEXT), sql = CAST(X'FF' AS TEXT) WHERE name = 'jobs'",
        "sql = replace(sql, 'frame', CAST(X'FF' AS TEXT)) WHERE name = 'jobs'",
        "name = CAST(X'FF' AS TEXT) WHERE name = 'states_due'",
        "type = CAST(X'FF' AS TEXT) WHERE name = 'attempts'",
    ],
)
def test_a_file_whose_schema_is_damaged_says_so(tmp_path: Path, change: str) -> None:
    path = tmp_path / "jobs.db"

    async def nothing(_: Scene) -> None:
        pass

    on(path, nothing)
    spoil_schema(path, change)

    async def ask() -> None:
        async with SqliteStore(path, ManualClock()) as store:
            await store.jobs(JobQuery())
            await store.join(Node("n2"))
            await store.claim("n2", ManualClock().now(), {"default": 9}, plan_due, "claim")
            raise AssertionError("nobody minds")

    with pytest.raises(StoreError) as told:
        asyncio.run(asyncio.wait_for(ask(), 60))
    assert not isinstance(told.value, StoreUnavailableError), "trying again would not help"
    for look in (look_at_schema, find_flaws):
        with suppress(StoreError):
            look(path)
