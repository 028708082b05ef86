"""A store with a past, furnished by the planner itself, on a clock that stands still."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import foliot.cli.session
from cli.calls import Result, call
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.job import Action, Job
from foliot.model.policy import Policy, Retry
from foliot.model.state import Node
from foliot.protocols import Changes, Output
from foliot.schedules import Cron, Once
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock

START = datetime(2026, 3, 2, 6, 30, tzinfo=UTC)  # a Monday
HOUR = timedelta(hours=1)
LEASE = timedelta(seconds=30)
REPORT = "billing/report@2026-03-02T07:00:00Z"
REFRESH = "billing/refresh@2026-03-02T07:00:00Z"
SLOW = "billing/slow@2026-03-02T08:00:00Z"
JOBS = (
    Job(
        source="billing",
        name="refresh",
        schedule=Cron("0 * * * *", timezone="Europe/Berlin"),
        action=Action(kind="python:refresh"),
    ),
    Job(
        source="billing",
        name="report",
        schedule=Cron("0 7 * * MON-FRI"),
        action=Action(kind="python:report", data={"to": "boss"}),
        policy=Policy(retry=Retry(max=1, delay="10s"), timeout=timedelta(minutes=5)),
    ),
    Job(source="billing", name="slow", schedule=Cron("0 8 * * *"), action=Action(kind="python:slow")),
)
OTHERS = (
    Job(source="ops", name="report", schedule=Cron("0 0 * * *"), action=Action(kind="shell"), queue="night"),
    Job(source="ops", name="once", schedule=Once("2026-03-09T12:00:00Z"), action=Action(kind="shell")),
)
NODE = Node(
    "n1",
    "billing",
    ("default",),
    ("code:billing/r1", "python:refresh", "python:report", "python:slow"),
    "0.1",
    host="web-1",
    process=4711,
)


class Shop:
    """A store in a file, its clock, and calls of `foliot` on it."""

    def __init__(self, path: Path, clock: ManualClock) -> None:
        self.path = path
        self.clock = clock
        self.url = f"sqlite:///{path}"

    def call(self, *words: str) -> Result:
        return call(*words, "--store", self.url)

    def wait(self, duration: timedelta) -> None:
        asyncio.run(self.clock.advance(duration))

    def act(self, scene: Callable[[SqliteStore], Awaitable[None]]) -> None:
        async def play() -> None:
            async with SqliteStore(self.path, self.clock, lease=LEASE, synchronous="OFF") as store:
                await scene(store)

        asyncio.run(play())

    async def declare(self, store: SqliteStore, jobs: tuple[Job, ...], removed: tuple[str, ...] = ()) -> None:
        source, now = jobs[0].source, self.clock.now()
        base = await store.revision(source)
        revision = f"r{int((base or 'r0')[1:]) + 1}"
        await store.reconcile(
            source, base, revision, Changes(jobs, removed),
            declared=lambda job, record: plan_declared(job, record, now),
            removed=lambda record: plan_removed(record, now),
        )  # fmt: skip

    async def claim(self, store: SqliteStore) -> list[Attempt]:
        now = self.clock.now()
        claimed = await store.claim("n1", now, {"default": 9, "night": 9}, plan_due, f"claim at {now}")
        return [attempt for _, attempt in claimed.runs]

    async def finish(
        self, store: SqliteStore, attempt: Attempt, error: str | None = None, output: str = "", **facts: Any
    ) -> None:
        now = self.clock.now()
        began = now - timedelta(seconds=2)
        outcome = Outcome.FAILED if error else Outcome.SUCCEEDED
        ending = Ending(attempt.job, *attempt.key, attempt.token, outcome, began, now, error)
        text = output or f"try {attempt.number}\n\x1b[1mdone\n"
        await store.write_outputs([Output(attempt.job, *attempt.key, text)])
        await store.finish("n1", [ending._replace(**facts)], now, plan_ended)

    async def pass_time(self, store: SqliteStore, duration: timedelta) -> None:
        await self.clock.advance(duration)
        await store.renew("n1")


async def furnish(shop: Shop, store: SqliteStore) -> None:
    """At 8:00:05, refresh has run twice, report has failed and was tried again, and slow is running."""
    await shop.declare(store, JOBS)
    await shop.declare(store, OTHERS)
    await store.join(NODE)
    await shop.pass_time(store, timedelta(minutes=30))
    for _ in range(2):
        for attempt in await shop.claim(store):
            await shop.pass_time(store, timedelta(seconds=2))
            error = "ValueError: no figures" if attempt.job == "billing/report" else None
            await shop.finish(store, attempt, error)
        await shop.pass_time(store, timedelta(seconds=30))
    await shop.pass_time(store, START + timedelta(hours=1.5) - shop.clock.now())
    for attempt in await shop.claim(store):
        if attempt.job == "billing/refresh":
            await shop.finish(store, attempt)
    await shop.pass_time(store, timedelta(seconds=5))


@pytest.fixture
def empty_shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    clock = ManualClock(START)
    monkeypatch.setattr(foliot.cli.session, "SystemClock", lambda: clock)
    monkeypatch.delenv("FOLIOT_STORE", raising=False)
    return Shop(tmp_path / "jobs.db", clock)


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A shop that is furnished once; tests get copies of its files, and a clock at the same time."""
    shop = Shop(tmp_path_factory.mktemp("furnished") / "jobs.db", ManualClock(START))

    async def scene(store: SqliteStore) -> None:
        await furnish(shop, store)

    shop.act(scene)
    return shop


@pytest.fixture
def shop(empty_shop: Shop, furnished: Shop) -> Shop:
    shutil.copytree(furnished.path.parent, empty_shop.path.parent, dirs_exist_ok=True)  # with the node's lock
    empty_shop.wait(furnished.clock.now() - START)
    return empty_shop
