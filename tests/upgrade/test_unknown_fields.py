"""What a newer version has written, and this one does not know, is kept when this one writes."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from foliot.engine.plan_command import Pause, Resume, plan_command
from foliot.engine.planner import plan_due, plan_ended
from foliot.engine.reconciler import reconcile
from foliot.model.attempt import Ending, Outcome
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.protocols import JobQuery, Snapshot
from foliot.schedules import Cron
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.address import read_address
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from upgrade.program import ADDITIVE
from upgrade.test_rolling import store_for

MINUTE = timedelta(minutes=1)
JOB = Job(source="code", name="a", schedule=Cron("* * * * *"), action=Action(kind="x"))
OF_THE_FUTURE = {"colour": "blue", "policy": {"retry": {"budget": 7}}, "action": {"weight": [1, 2]}}
FILL = ["UPDATE states SET colour = 'red'", "UPDATE jobs SET shape = 'round'"]
LOOK = "SELECT s.colour, j.shape FROM states AS s JOIN jobs AS j ON j.job_no = s.job_no"


class Tables:
    """A store's tables, behind its back."""

    def __init__(self, where: str) -> None:
        self._where = where

    def execute(self, *statements: str) -> list[Any]:
        if self._where.startswith("postgresql"):
            server, schema = read_address(self._where)
            with psycopg.connect(server, options=f"-csearch_path={schema}") as connection:
                cursors = [connection.execute(sql.encode()) for sql in statements]
                return cursors[-1].fetchall() if cursors[-1].description else []
        with closing(sqlite3.connect(self._where, isolation_level=None)) as file:
            return [row for sql in statements for row in file.execute(sql).fetchall()]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_fields_and_columns_of_a_newer_version_survive_whatever_this_one_writes(
    kind: str, tmp_path: Path
) -> None:
    where = store_for(kind, tmp_path).removeprefix("sqlite:///")
    tables, clock = Tables(where), ManualClock()

    async def act() -> None:
        lease = 2 * MINUTE
        store: Any = (
            SqliteStore(Path(where), clock, lease=lease)
            if kind == "sqlite"
            else PostgresStore(where, time=clock, lease=lease)
        )
        async with store:
            await reconcile(store, "code", Snapshot("r1", (replace(JOB, extra=OF_THE_FUTURE),)), clock.now())
            tables.execute(*(sql for sql in ADDITIVE.split(";") if sql.strip()), *FILL)

            await store.join(Node("older"))
            await clock.advance(MINUTE)
            claimed = await store.claim("older", clock.now(), {"default": 9}, plan_due, "c")
            [(job, attempt)] = claimed.runs
            assert job.extra == OF_THE_FUTURE, "an executor may want to see it"
            run, now = (attempt.run_key, attempt.number), clock.now()
            ending = Ending("code/a", run[0], run[1], attempt.token, Outcome.FAILED, None, now, "no")
            assert not (await store.finish("older", [ending], clock.now(), plan_ended)).refused
            for command in (Pause(), Resume()):
                await store.update("code/a", lambda r, c=command: plan_command(r, c, clock.now()))
            changed = replace(JOB, schedule=Cron("*/5 * * * *"), queue="another")
            await reconcile(store, "code", Snapshot("r2", (changed,)), clock.now())

            (view,) = await store.jobs(JobQuery())
            assert view.record.job.extra == OF_THE_FUTURE
            assert (view.record.job.schedule, view.record.job.queue) == (Cron("*/5 * * * *"), "another")
            assert tables.execute(LOOK) == [("red", "round")]

    asyncio.run(act())
