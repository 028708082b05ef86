"""A host whose time zones are old leaves a job to hosts that know its zone, and says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_lost
from foliot.errors import InvalidTimezoneError
from foliot.model import schedule_codec
from foliot.model.damage import Flaw
from foliot.model.decision import Happening
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, Store
from foliot.schedules import Cron
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from real_postgres import shared_url
from stores.postgres.opening import open_postgres

Open = Callable[[], AbstractAsyncContextManager[Store]]
NEW_ZONE = "Europe/Berlin"
CLOCK = ManualClock()


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "jobs.db", CLOCK)
    url = f"{shared_url()}?schema=zones_{tmp_path.name.replace('-', '_')}"
    return lambda: open_postgres(url, CLOCK)


@asynccontextmanager
async def with_old_zones(open_store: Open, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    """A store as it is opened on a host that does not know the zone."""

    read = Cron.stored

    def stored(expression: str, timezone: str, *more: Any) -> Cron:
        if timezone == NEW_ZONE:
            raise InvalidTimezoneError(timezone, "there is no such time zone")
        return read(expression, timezone, *more)

    with monkeypatch.context() as patch:
        patch.setattr(Cron, "stored", staticmethod(stored))
        schedule_codec._cron.cache_clear()
        async with open_store() as store:
            yield store
    schedule_codec._cron.cache_clear()


async def declare(store: Store) -> None:
    jobs = tuple(
        Job(source="s", name=name, schedule=Cron("* * * * *", timezone=zone), action=Action(kind="k"))
        for name, zone in (("new", NEW_ZONE), ("old", "UTC"))
    )
    now = CLOCK.now()
    await store.reconcile(
        "s", None, "r1", Changes(jobs),
        declared=lambda job, record: plan_declared(job, record, now),
        removed=lambda record: plan_removed(record, now),
    )  # fmt: skip


def test_a_job_of_a_zone_that_one_host_does_not_know_runs_on_another(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act() -> None:
        async with open_store() as store:
            await declare(store)
        later = CLOCK.now().replace(second=0, microsecond=0).replace(minute=59)
        room = {"default": 9}
        async with with_old_zones(open_store, monkeypatch) as store:
            await store.join(Node("old"))
            claimed = await store.claim("old", later, room, plan_due, "c1")
            assert [attempt.job for _, attempt in claimed.runs] == ["s/old"]
            told = [event for event in claimed.events if event.what is Happening.PASSED_OVER]
            assert [event.job for event in told] == ["s/new"]
            assert "time zone" in told[0].reason
            again = await store.claim("old", later, room, plan_due, "c2")
            assert (again.runs, again.events, again.more) == ((), (), False), "it is told once"
            views = {view.key: view for view in await store.jobs(JobQuery())}
            assert views["s/new"].damage is not None
            assert views["s/new"].damage.flaw is Flaw.UNKNOWN_HERE
            await store.recover(9, later, plan_lost)
        async with open_store() as store:
            await store.join(Node("new"))
            claimed = await store.claim("new", later, room, plan_due, "c3")
            assert [attempt.job for _, attempt in claimed.runs] == ["s/new"], "nobody has set it aside"

    asyncio.run(act())
