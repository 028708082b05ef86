"""What a tick costs: rows and index entries that the server reads, not time. 10 schedules, or 100,000."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import psycopg
import pytest

from engine.rat_stage import schedule
from foliot.engine.plan_command import Pause, Resume, plan_command
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.engine.reconciler import reconcile
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, Snapshot
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.address import read_address
from foliot.testing.clock import ManualClock
from foliot.testing.servers import postgres_server

DUE, FEW, MANY = 5, 10, 100_000
QUEUES, KINDS = {"default": 50}, ("pipeline",)
# As many more of the schedule that is not due, each under a name of its own.
MULTIPLY = """
    WITH one AS (SELECT j.* FROM jobs AS j WHERE j.key = 'code/later'),
    more AS (
        INSERT INTO jobs
        SELECT 1000 + n, key || n, frame, data, policy_no FROM one, generate_series(1, {0}) AS n
    ),
    state AS (SELECT s.* FROM states AS s JOIN one ON one.job_no = s.job_no)
    INSERT INTO states (
        job_no, lane_no, token, created_at, wake_at, served_until, next_at, fired_count, failures_in_row
    )
    SELECT 1000 + n, lane_no, token, created_at, wake_at, served_until, next_at, 0, 0
    FROM state, generate_series(1, {0}) AS n
"""
TABLES = "schemaname = %(schema)s AND relname IN ('jobs', 'states', 'attempts')"
READ = f"""
    SELECT
        (SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
         FROM pg_stat_user_tables WHERE {TABLES}),
        (SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE {TABLES})
"""  # noqa: S608 - made of constants only


@pytest.fixture
def quiet_server(server_url: str) -> Iterator[str]:
    """A server that nobody else uses.

    On a shared one, a neighbour's transaction keeps dead versions of rows in the indexes, and each look at
    a row passes them all: the count would tell of the neighbour.
    """
    assert server_url, "there is a PostgreSQL here"
    with postgres_server() as server:
        yield server.url


async def furnish(url: str, clock: ManualClock, count: int) -> None:
    due = [schedule(f"due-{number}", "*/10 * * * *") for number in range(DUE)]
    async with PostgresStore(url, time=clock) as store:
        snapshot = Snapshot("r1", (*due, schedule("later", "0 0 1 12 *")))
        await reconcile(store, "code", snapshot, clock.now())
    server, schema = read_address(url)
    with psycopg.connect(server, options=f"-csearch_path={schema}") as connection:
        connection.execute(MULTIPLY.format(count - DUE - 1).encode())


async def tick(store: PostgresStore, clock: ManualClock) -> int:
    """One turn of everything that an engine does again and again; how many runs it has fired."""
    now = clock.now()
    claimed = await store.claim("n", now, QUEUES, plan_due, f"claim at {now}")
    await store.wakes(QUEUES, KINDS)
    await store.wakes(QUEUES, KINDS, now)
    await store.renew("n")
    await store.recover(1000, now, plan_lost)
    endings = [run.ending(Outcome.SUCCEEDED, now, now) for run in claimed.runs]
    await store.finish("n", endings, now, plan_ended)
    await serve_people(store, now)
    return len(endings)


async def serve_people(store: PostgresStore, now: datetime) -> None:
    """What somebody asks for one schedule costs by that one, too."""
    await store.update("code/later", lambda record: plan_command(record, Pause(), now))
    await store.update("code/later", lambda record: plan_command(record, Resume(), now))
    assert len(await store.jobs(JobQuery(keys=frozenset(("code/later",))))) == 1
    changed = schedule("later", f"{now.minute} 0 1 12 *")
    await store.reconcile(
        "code",
        await store.revision("code"),
        f"r at {now}",
        Changes((changed,)),
        declared=lambda job, record: plan_declared(job, record, now),
        removed=lambda record: plan_removed(record, now),
    )


async def cost_of_ticks(url: str, count: int) -> tuple[int, int]:
    """Rows and index entries that were read for ten ticks, of which one finds something due."""
    clock = ManualClock()
    await furnish(url, clock, count)
    before = read_so_far(url)
    async with PostgresStore(url, time=clock, lease=timedelta(hours=2)) as store:
        await store.join(Node("n", kinds=KINDS))
        fired = 0
        for _ in range(10):
            await clock.advance(timedelta(minutes=1))
            fired += await tick(store, clock)
        assert fired == DUE
        sessions = sessions_of(store)
    after = read_so_far(url, sessions)
    return after[0] - before[0], after[1] - before[1]


def sessions_of(store: PostgresStore) -> list[int]:
    sessions = (worker._session for worker in store._workers.values())
    return [session.connection.info.backend_pid for session in sessions if session is not None]


def read_so_far(url: str, sessions: Sequence[int] = ()) -> tuple[int, int]:
    """What the server has counted, when some sessions have ended: each tells then what it has read."""
    server, schema = read_address(url)
    with psycopg.connect(server, autocommit=True) as connection:
        living = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(%s)"
        while connection.execute(living, (list(sessions),)).fetchone() != (0,):
            pass
        row = connection.execute(READ, {"schema": schema}).fetchone()
    assert row is not None
    return row[0], row[1]


@pytest.mark.req("RAT-13")
def test_a_tick_costs_by_what_is_due_and_not_by_how_many_schedules_there_are(quiet_server: str) -> None:
    few = asyncio.run(cost_of_ticks(f"{quiet_server}?schema=few", FEW))
    many = asyncio.run(cost_of_ticks(f"{quiet_server}?schema=many", MANY))
    assert few[0] > 0
    assert many[0] <= few[0] + 10, (few, many)
    assert many[1] <= few[1] + 10, (few, many)
    assert max(many) < 1000, "for ten ticks, five runs, and forty wishes of people"
