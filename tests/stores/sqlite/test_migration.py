"""The schema: a new file and an old one end up the same, whoever opens first; strangers are refused."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.model.view import SourceView
from foliot.protocols import Changes, RunQuery
from foliot.schedules import Every
from foliot.stores.sql.codes import whole
from foliot.stores.sqlite import SqliteStore
from foliot.stores.sqlite.connection import Synchronous, connect
from foliot.stores.sqlite.migration import MAJOR, migrate, statements, steps
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import lose

# What undoes all steps but the first.
LATER_STEPS = """
    ALTER TABLE attempts DROP COLUMN exit_code;
    DROP TABLE source_notes;
    DROP TABLE node_notes;
    DROP INDEX attempts_cancelling;
    DROP INDEX attempts_rise;
    DROP INDEX attempts_trouble;
    DROP TABLE remains;
    DROP INDEX states_ripe;
    DROP INDEX states_old;
    ALTER TABLE attempts DROP COLUMN seq;
    ALTER TABLE states DROP COLUMN opened;
    ALTER TABLE states DROP COLUMN skipped;
    ALTER TABLE states DROP COLUMN trim_at;
    ALTER TABLE states DROP COLUMN look_at;
    ALTER TABLE states DROP COLUMN cut_at;
    ALTER TABLE states DROP COLUMN version;
    ALTER TABLE states DROP COLUMN defined_at;
    ALTER TABLE states DROP COLUMN paused_reason;
    ALTER TABLE attempts DROP COLUMN version;
    ALTER TABLE attempts DROP COLUMN payload;
    DROP TABLE definitions;
    DROP TABLE source_revisions;
    DROP INDEX states_paused;
    DROP INDEX states_failing;
    DROP INDEX skips_by_end;
    DROP TABLE output_parts;
    DROP TRIGGER outputs_gone;
    ALTER TABLE states DROP COLUMN last_problem;
    DROP TABLE alerts;
    ALTER TABLE states DROP COLUMN watch;
    ALTER TABLE states DROP COLUMN paused_until;
    DROP TABLE group_runs;
    DROP TABLE outages;
    DROP TABLE tokens;
    DROP TABLE sessions;
    DROP TABLE login_codes;
    DROP TABLE audit;
    DROP TABLE pipelines;
    DROP TABLE pipeline_names;
"""
SNAPSHOT = Path(__file__).with_name("schema.sql")
OPEN_AND_JOIN = """
import asyncio, sys
from foliot.model.state import Node
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock

async def main():
    async with SqliteStore(sys.argv[1], ManualClock()) as store:
        await store.join(Node(sys.argv[2]))
        print(await store.revision("nobody"))

sys.stdin.readline()
asyncio.run(main())
"""


def schema_of(connection: sqlite3.Connection) -> str:
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name")
    return "\n\n".join(f"{sql};" for (sql,) in rows) + "\n"


async def open_and_close(path: Path) -> None:
    async with SqliteStore(path, ManualClock()):
        pass


def test_the_schema_is_what_was_reviewed(tmp_path: Path) -> None:
    asyncio.run(open_and_close(tmp_path / "jobs.db"))
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        assert schema_of(connection) == SNAPSHOT.read_text()


def test_an_old_file_becomes_what_a_new_one_is(tmp_path: Path) -> None:
    for step in steps():
        with closing(sqlite3.connect(tmp_path / f"{step.number}.db", isolation_level=None)) as connection:
            for early in steps():
                if early.number <= step.number:
                    for statement in statements(early.script):
                        connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {step.number}")
            connection.execute(f"PRAGMA application_id = {0x464F4C49}")
            migrate(connection, lambda _: None)
            assert schema_of(connection) == SNAPSHOT.read_text()


def test_what_an_older_program_has_written_is_read_as_it_is(tmp_path: Path) -> None:
    """A run and two sources of the first step; it goes on writing beside us."""
    path = tmp_path / "jobs.db"
    clock = ManualClock()
    job = Job(source="old", name="job", schedule=Every("1h"), action=Action(kind="k"))

    async def declare(store: SqliteStore, revision: str) -> None:
        base = await store.revision("old")
        await store.reconcile(
            "old", base, revision, Changes((job,)),
            declared=lambda job, record: plan_declared(job, record, clock.now()),
            removed=lambda record: plan_removed(record, clock.now()),
        )  # fmt: skip

    async def act() -> None:
        async with SqliteStore(path, clock) as store:
            await declare(store, "r1")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(
                f"""
                {LATER_STEPS}
                PRAGMA user_version = {steps()[0].number};
                INSERT INTO attempts (scheduled_for, job_no, request, number, ordinal, trigger, state, token,
                    outcome, reason, retries, losses) VALUES (7, 1, '', 1, 0, 0, 3, 1, 2, 'due', 0, 0);
                """  # noqa: S608 - a number of ours
            )
        async with SqliteStore(path, clock) as store:
            (attempt,) = await store.runs(RunQuery())
            assert (attempt.outcome, attempt.exit_code) == (Outcome.FAILED, None)
            assert (attempt.version, attempt.payload) == (0, None)
            (version,) = await store.versions("old/job")
            assert (version.number, version.job, version.since) == (1, job, clock.now())
            assert await store.sources() == (SourceView("old", "r1", 1, None),)
            await declare(store, "r2")
            assert await store.sources() == (SourceView("old", "r2", 1, clock.now()),)
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("INSERT OR REPLACE INTO sources VALUES ('old', 'r3')")
            assert await store.sources() == (SourceView("old", "r3", 1, None),), "since when, nobody knows"

    asyncio.run(act())


def test_a_node_of_an_older_program_is_shown_with_what_it_says(tmp_path: Path) -> None:
    """It writes whole rows of its nodes, and knows of no notes: neither when it joins nor when it buries."""
    path, clock = tmp_path / "jobs.db", ManualClock()
    joined = "INSERT INTO nodes VALUES (7, 'old', '[\"default\"]', NULL, '0.1', '', '', ?, 0)"

    async def act() -> None:
        async with SqliteStore(path, clock) as store:
            await store.join(Node("new", host="web-1", process=4, skew=timedelta(seconds=3)))
            until = (await store.renew("new")).until
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("INSERT INTO node_names VALUES (7, 'old')")
                connection.execute(joined, (whole(until),))
            new, old = (view.node for view in await store.nodes())
            assert new == Node("new", host="web-1", process=4, skew=timedelta(seconds=3))
            assert old == Node("old", "old", version="0.1")
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("DELETE FROM nodes WHERE name = ''")  # the older one has buried the newer
            await store.recover(10, clock.now(), lose)
            with closing(sqlite3.connect(path)) as connection:
                assert connection.execute("SELECT count(*) FROM node_notes").fetchone() == (0,)

    asyncio.run(act())


def test_steps_have_numbers_of_their_own_and_begin_with_the_major_version() -> None:
    numbers = [step.number for step in steps()]
    assert len(set(numbers)) == len(numbers)
    assert {number // 1000 for number in numbers} == set(range(1, MAJOR + 1))


def test_migrating_again_changes_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        asyncio.run(open_and_close(tmp_path / "jobs.db"))
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (steps()[-1].number,)


@pytest.mark.parametrize("way", ["tasks", "threads", "processes"])
def test_several_may_open_a_new_file_at_once(tmp_path: Path, way: str) -> None:
    path = tmp_path / "jobs.db"

    async def in_processes() -> None:
        workers = [
            await asyncio.create_subprocess_exec(
                sys.executable, "-c", OPEN_AND_JOIN, path, f"node-{number}",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )
            for number in range(4)
        ]  # fmt: skip
        for out, errors in await asyncio.gather(*(worker.communicate(b"go\n") for worker in workers)):
            assert (out, errors) == (b"None\n", b"")

    async def act() -> None:
        if way == "processes":
            await in_processes()
        elif way == "threads":
            in_thread = asyncio.to_thread
            await asyncio.gather(*(in_thread(lambda: asyncio.run(open_and_close(path))) for _ in range(8)))
        else:
            await asyncio.gather(*(open_and_close(path) for _ in range(8)))

    asyncio.run(act())
    with closing(sqlite3.connect(path)) as connection:
        assert schema_of(connection) == SNAPSHOT.read_text()
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("moment", ["PRAGMA user_version", "PRAGMA application_id", "SELECT 1"])
def test_whoever_makes_the_tables_while_we_look_is_no_stranger(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "jobs.db"

    def make_tables(sql: str) -> None:
        if sql.startswith(moment):
            looking.set_trace_callback(None)
            with closing(connect(path, timedelta(seconds=1), Synchronous.OFF)) as other:
                migrate(other, lambda _: None)

    with closing(connect(path, timedelta(seconds=1), Synchronous.OFF)) as looking:
        looking.set_trace_callback(make_tables)
        migrate(looking, lambda _: None)
        assert schema_of(looking) == SNAPSHOT.read_text()


# -- strangers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (f"PRAGMA user_version = {1000 * (MAJOR + 1)}", f"schema {1000 * (MAJOR + 1)}"),
        ("PRAGMA application_id = 7", "another program"),
        ("DROP TABLE claims; PRAGMA user_version = 0", "another program"),
    ],
    ids=["newer", "another's", "another's that says nothing"],
)
def test_a_file_that_is_not_for_us_is_refused_and_left_alone(tmp_path: Path, sql: str, words: str) -> None:
    path = tmp_path / "jobs.db"
    asyncio.run(open_and_close(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
        before = schema_of(connection)
    with pytest.raises(StoreError, match=words) as refusal:
        asyncio.run(open_and_close(path))
    assert not isinstance(refusal.value, StoreUnavailableError), "trying again would not help"
    assert refusal.value.hint
    with closing(sqlite3.connect(path)) as connection:
        assert schema_of(connection) == before


def test_a_later_step_of_the_same_major_version_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    asyncio.run(open_and_close(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"ALTER TABLE jobs ADD COLUMN colour; PRAGMA user_version = {1000 * MAJOR + 999}"
        )
    asyncio.run(open_and_close(path))


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_a_store_in_memory_is_another_store(path: str) -> None:
    with pytest.raises(StoreError, match="cannot keep"):
        SqliteStore(path, ManualClock())
