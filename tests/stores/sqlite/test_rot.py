"""Files with random wrong bytes: the store works, sets jobs aside, or says that the file is damaged."""

# ruff: noqa: S608 - our own words

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Coroutine
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from foliot.engine.plan_command import Cancel, RunNow, plan_command
from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.engine.reconciler import reconcile
from foliot.errors import FoliotError
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.protocols import JobQuery, Output, RunQuery, SkipQuery, Snapshot
from foliot.schedules import Every
from foliot.stores.sqlite import SqliteStore
from foliot.stores.sqlite.inspection import find_flaws, look_at_schema
from foliot.testing.clock import ManualClock

FILES = int(os.environ.get("FOLIOT_ROT", "200"))
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def jobs(count: int) -> tuple[Job, ...]:
    return tuple(
        Job(
            source="code", name=f"job-{n:02}", schedule=Every(HOUR), queue="default" if n % 3 else "other",
            action=Action(kind="x" if n % 2 else "y", data={"number": n, "text": "Grüße"}),
        )
        for n in range(count)
    )  # fmt: skip


def ending_of(attempt: Attempt, clock: ManualClock, number: int) -> Ending:
    outcome, now = (Outcome.FAILED, clock.now()) if number % 4 == 0 else (Outcome.SUCCEEDED, clock.now())
    error = "it failed" if outcome is Outcome.FAILED else None
    return Ending(attempt.job, attempt.run_key, attempt.number, attempt.token, outcome, now, now, error)


async def fill(path: Path, clock: ManualClock) -> None:
    """A file with some of everything."""
    async with SqliteStore(path, clock, synchronous="OFF") as store:
        await reconcile(store, "code", Snapshot("r1", jobs(12)), clock.now())
        await store.write_source_status("code", "{}")
        await store.join(Node("old"))
        for hour in range(5):
            await clock.advance(HOUR)
            await store.renew("old")
            room = {"default": 20, "other": 20}
            claimed = await store.claim("old", clock.now(), room, plan_due, f"c{hour}")
            endings = [ending_of(a, clock, n) for n, (_, a) in enumerate(claimed.runs)]
            await store.finish("old", endings, clock.now(), plan_ended)
            await store.write_outputs([Output(e.job, e.run_key, e.number, "some output") for e in endings])
            await clock.advance(3 * HOUR)
        now = clock.now()
        await store.update("code/job-01", lambda record: plan_command(record, RunNow("go"), now))
        await store.renew("old")
        await store.claim("old", now, {"default": 20, "other": 20}, plan_due, "last")
        await store.update("code/job-01", lambda record: plan_command(record, Cancel("code/job-01!go"), now))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def use(path: Path, clock: ManualClock) -> None:
    """Ask for everything."""
    async with SqliteStore(path, clock, synchronous="OFF") as store:
        await asked(store.join(Node("new")))
        now, room = clock.now(), {"default": 50, "other": 50}
        await asked(store.recover(100, now, plan_lost))
        claimed = await asked(store.claim("new", now, room, plan_due, "claim"))
        await asked(store.claim("new", now, room, plan_due, "claim"))
        endings = [ending_of(a, clock, n) for n, (_, a) in enumerate(claimed.runs)] if claimed else []
        await asked(store.finish("new", endings, now, plan_ended))
        await asked(store.renew("new"))
        await asked(store.held("new"))
        for name in ("job-00", "job-01", "job-07"):
            await asked(
                store.update(f"code/{name}", lambda record: plan_command(record, RunNow("once"), now))
            )
        await ask_questions(store)
        for _ in range(5):
            await asked(store.prune(now + 100 * DAY, 100))
        await asked(reconcile(store, "code", Snapshot("r2", jobs(8)), now))
        await ask_questions(store)
        await asked(store.claim("new", now + HOUR, room, plan_due, "next"))
        await asked(store.leave("new"))


async def ask_questions(store: SqliteStore) -> None:
    questions: list[Coroutine[Any, Any, Any]] = [
        store.wakes(["default", "other"]),
        store.wakes(["default", "other"], ("x",)),
        store.wakes(["default", "other"], None, await store.now()),
        store.jobs(JobQuery()),
        store.jobs(JobQuery(source="code", with_removed=True)),
        store.runs(RunQuery()),
        store.runs(RunQuery(is_open=True)),
        store.runs(RunQuery(outcome=Outcome.FAILED)),
        store.runs(RunQuery(job="code/job-01")),
        store.skips(SkipQuery("code/job-01")),
        store.output("code/job-01!go", 1),
        store.overview(),
        store.nodes(),
        store.sources(),
        store.revision("code"),
    ]
    for question in questions:
        await asked(question)


async def asked(call: Coroutine[Any, Any, Any]) -> Any:
    """The answer; none, if the store says that there is none."""
    try:
        return await asyncio.wait_for(call, 30)
    except FoliotError:
        return None


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, ManualClock]:
    path, clock = tmp_path_factory.mktemp("rot") / "jobs.db", ManualClock()
    asyncio.run(fill(path, clock))
    return path.read_bytes(), clock


def assert_handled(path: Path, clock: ManualClock) -> None:
    """No answer is late, and all that is raised is ours."""
    asyncio.run(asyncio.wait_for(asked(use(path, clock)), 60))
    for look in (look_at_schema, find_flaws):
        with suppress(FoliotError):
            look(path)


@pytest.mark.parametrize("part", range(10))
def test_no_wrong_byte_gives_more_than_a_store_error(
    tmp_path: Path, whole: tuple[bytes, ManualClock], part: int
) -> None:
    content, clock = whole
    used = [place for place, byte in enumerate(content) if byte]
    for seed in range(part, FILES, 10):
        random, spoilt = Random(seed), bytearray(content)  # noqa: S311 - to be repeated
        for _ in range(random.choice((1, 1, 1, 3, 10))):
            spoilt[random.choice(used)] = random.choice((0, 0xFF, 0x80, random.randrange(256)))
        path = tmp_path / f"{seed}.db"
        path.write_bytes(spoilt)
        assert_handled(path, clock)


TABLES = (
    "attempts", "claims", "counters", "jobs", "lanes", "node_names", "node_notes", "nodes", "outputs",
    "policies", "remains", "skips", "source_notes", "sources", "states",
)  # fmt: skip


@pytest.mark.prove
@pytest.mark.parametrize("value", ["CAST(X'61FF' AS TEXT)", "X'61FF'"])
@pytest.mark.parametrize("table", TABLES)
def test_no_wrong_value_of_any_column_gives_more_than_a_store_error(
    tmp_path: Path, whole: tuple[bytes, ManualClock], table: str, value: str
) -> None:
    content, clock = whole
    (tmp_path / "whole.db").write_bytes(content)
    with closing(sqlite3.connect(tmp_path / "whole.db")) as connection:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    assert columns
    for column in columns:
        path = tmp_path / f"{column}.db"
        path.write_bytes(content)
        one = f"SELECT {column} FROM {table} LIMIT 1"
        with closing(sqlite3.connect(path)) as connection, connection, suppress(sqlite3.IntegrityError):
            connection.execute(f"UPDATE {table} SET {column} = {value} WHERE {column} IS ({one})")
        assert_handled(path, clock)
