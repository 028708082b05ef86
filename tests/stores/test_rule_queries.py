"""A database counts the definitions of jobs: the same as who reads all jobs."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from foliot.clock import SystemClock
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.model.job import Action, Job
from foliot.operations import Operations
from foliot.operations.rule_count import count_rules
from foliot.protocols import Changes
from foliot.protocols_source import CountsRules
from foliot.schedules import Cron
from foliot.testing.servers import MissingServerError, shared_postgres
from foliot.wiring import FullStore, open_store
from stores.postgres.opening import fresh

RULES = (Cron("0 4 * * *"), Cron("30 5 * * *", timezone="Europe/Berlin"), Cron("*/7 * * * *"))


def job(source: str, number: int) -> Job:
    action = Action(kind="k", data={"n": number})
    return Job(source=source, name=f"j{number}", schedule=RULES[number % 3], action=action)


async def _declare(store: FullStore, source: str, changes: Changes) -> None:
    now = await store.now()
    await store.reconcile(
        source, await store.revision(source), uuid4().hex, changes,
        declared=lambda one, record: plan_declared(one, record, now),
        removed=lambda record: plan_removed(record, now),
    )  # fmt: skip


async def _check(url: str) -> None:
    clock = SystemClock()
    async with open_store(url, clock, lease=timedelta(seconds=60)) as store:
        assert isinstance(store, CountsRules)
        for source in ("a", "b"):
            await _declare(store, source, Changes(tuple(job(source, n) for n in range(10))))
        await _declare(store, "b", Changes(removed=("j0", "j1")))
        await Operations(store, clock).pause("a/j2")
        found = await count_rules(store)
        by_rule = Counter[str]()
        for rule, count in found.counts.items():
            by_rule[str(rule.schedule)] += count
        assert by_rule == {str(RULES[0]): 7, str(RULES[1]): 5, str(RULES[2]): 5}
        assert (await count_rules(store, "b")).counts.total() == 8
        assert {one.source: one.jobs for one in await store.sources()} == {"a": 10, "b": 8}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/jobs.db"
    try:
        return fresh(shared_postgres().url)
    except MissingServerError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("portion", [3, 20_000])
def test_definitions_are_counted_as_if_all_jobs_were_read(
    url: str, portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foliot.operations.rule_count._PORTION", portion)
    asyncio.run(_check(url))
