"""A store with three days of a shop's history, for pictures and tests of the dashboard: no job really runs.

The clock stands at one instant, so that pages look the same each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

from foliot.api.backend import StoreBackend
from foliot.clock import SystemClock
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Ending, Outcome
from foliot.model.job import Action, Job
from foliot.model.pipeline import Pipeline
from foliot.model.policy import Misfire, Policy, Retry
from foliot.model.state import Node
from foliot.operations import Operations
from foliot.protocols import Changes, Output
from foliot.schedules import Cron
from foliot.stores.memory import MemoryStore
from foliot.wiring import FullStore

NOW = datetime(2026, 10, 24, 21, 17, 30, tzinfo=UTC)  # the clocks of Europe go back in the night that follows
LAST = NOW.replace(minute=15, second=0)  # when nodes look for the last time
BEGIN = LAST - timedelta(days=3)
STEP = timedelta(minutes=5)
LEASE = timedelta(days=30)
BERLIN = "Europe/Berlin"
LOG = (
    "\x1b[1mbackup\x1b[0m of /srv/data to s3://shop-backup\n"
    "\x1b[36m12:00:01\x1b[0m scanning 18,204 files\n\x1b[36m12:00:14\x1b[0m 412 files have changed\n"
    "\x1b[33mwarning\x1b[0m skipped /srv/data/tmp/lock: no permission\n"
    "\x1b[36m12:01:40\x1b[0m uploaded 1.9 GB in 84 s\n\x1b[32mdone\x1b[0m, 0 errors\n"
)
FAILED = "\x1b[31merror\x1b[0m the bank answers 503 Service Unavailable\n  at charge(order=88213)\n"
BEGUN = "\x1b[36m21:15:01\x1b[0m 214 cards to charge\n"
BEAT = {"sync-stock": "*/20 * * * *", "rank-products": "5 * * * *", "warm-cache": "0 * * * *"}
_RETRY = Policy(retry=Retry(max=2, delay="30s"), timeout=timedelta(minutes=20))


class StillClock(SystemClock):
    """A clock that tells one time until it is moved; waiting is real."""

    def __init__(self, at: datetime) -> None:
        super().__init__()
        self.at = at

    def now(self) -> datetime:
        """The time that it was set to."""
        return self.at


class ShopHome(StoreBackend):
    """The store of the shop, in memory."""

    def __init__(self, store: FullStore, clock: SystemClock) -> None:
        super().__init__("memory://", clock)
        self._store = store

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[FullStore]:
        """The one store that there is."""
        yield self._store


def _job(source: str, name: str, rule: str, kind: str, **more: Any) -> Job:
    zone = more.pop("zone", "UTC")
    data = more.pop("data", {})
    return Job(
        source=source,
        name=name,
        schedule=Cron(rule, timezone=zone),
        action=Action(kind=kind, data=data),
        **more,
    )


def jobs() -> dict[str, tuple[Job, ...]]:
    """What the sources of the shop declare."""
    shell = "shell:ops"
    return {
        "ops": (
            _job("ops", "backup", "0 */4 * * *", shell, data={"run": "restic backup /srv"}, policy=_RETRY),
            _job("ops", "night-report", "30 2 * * *", shell, zone=BERLIN, data={"run": "make report"}),
            _job("ops", "certificates", "15 6 * * MON", shell, zone=BERLIN, data={"run": "certbot renew"}),
            _job("ops", "clean-tmp", "*/30 * * * *", shell, data={"run": "tmpreaper 2d /srv/tmp"}),
            _job("ops", "rotate-logs", "0 0 * * *", shell, data={"run": "logrotate /etc/shop.conf"}),
        ),
        "billing": (
            _job("billing", "charge-cards", "*/15 * * * *", "python:charge", policy=_RETRY, data={"bank": 1}),
            _job("billing", "send-invoices", "0 7 * * MON-FRI", "python:invoice", zone=BERLIN),
            _job("billing", "payroll", "0 9 25 * *", "python:payroll", zone=BERLIN, queue="payroll"),
            _job("billing", "dunning", "0 10 * * TUE,THU", "python:dunning", zone="America/New_York"),
        ),
        "beat": tuple(
            _job("beat", name, rule, "beat:enqueue")
            for name, rule in BEAT.items()
        ),
        "api": (
            _job("api", "webhook-partners", "0 */2 * * *", "http", data={"url": "https://partner.example/hook"}),
            _job("api", "newsletter", "0 8 * * SAT", "python:newsletter", zone=BERLIN,
                 policy=Policy(misfire=Misfire(mode="skip"))),  # type: ignore[arg-type] # a text is a mode
        ),
    }  # fmt: skip


async def furnish(store: FullStore, clock: StillClock) -> Operations:
    """Let three days pass: jobs run, some fail, one is paused, a node is away for some hours."""
    ops, random = Operations(store, clock), Random(7)  # noqa: S311 - for a picture
    clock.at = BEGIN
    for name, host, slots in (("node-a", "berlin-1", 8), ("node-b", "berlin-2", 8)):
        node = Node(
            name, name=name, host=host, process=4211, version="0.1.0", kinds=None, slots=(("default", slots),)
        )
        await store.join(node)
    for source, declared in jobs().items():
        await declare(ops, source, declared)
    while clock.at < LAST:
        clock.at += STEP
        is_away = timedelta(hours=55) < clock.at - BEGIN < timedelta(hours=58)
        if not is_away:
            await _turn(store, clock.at, random, ends=clock.at < LAST)
    await _finish(ops, clock)
    return ops


async def _finish(ops: Operations, clock: StillClock) -> None:
    store = ops.store
    *others, dunning = jobs()["billing"]
    changed = replace(dunning, schedule=Cron("0 11 * * TUE,THU", timezone=BERLIN))
    await declare(ops, "billing", [*others, changed])
    await ops.pause("beat/rank-products", reason="the ranking is rebuilt, ask Ada")
    await store.write_source_status("ops", '{"repository": "https://git.example/ops", "error": null}')
    await store.write_source_status(
        "billing", '{"error": "rollcron.yaml:12: \\"0 25 * * *\\" is no cron expression: hours end with 23"}'
    )
    action = Action(kind="python:sales")
    for number, name in enumerate(("sales", "stock", "returns")):
        pipeline_id = str(UUID(int=number + 1))
        await store.add_pipeline(
            Pipeline(
                pipeline_id,
                "shop",
                "gold",
                name,
                action,
                BEGIN,
                BEGIN,
                description=f"Totals of {name} by day",
            )
        )
    clock.at = NOW


async def _turn(store: FullStore, now: datetime, random: Random, *, ends: bool) -> None:
    """Let a node take what is due, and end most of it."""
    node = random.choice(("node-a", "node-b"))
    await store.renew(node)
    claimed = await store.claim(node, now, {"default": 50}, plan_due, uuid4().hex)
    for _, attempt in claimed.runs:
        run, number = attempt.key
        if not ends and attempt.job == "billing/charge-cards":
            await store.write_outputs([Output(attempt.job, run, number, BEGUN)])
            continue
        is_bad = random.random() < (0.3 if attempt.job == "billing/charge-cards" else 0.03)
        is_bad = is_bad or (attempt.job == "api/webhook-partners" and now > NOW - timedelta(hours=7))
        begun = now + timedelta(milliseconds=random.randrange(20, 1500))
        ended = begun + timedelta(seconds=random.lognormvariate(2, 1))
        outcome = Outcome.FAILED if is_bad else Outcome.SUCCEEDED
        text = FAILED if is_bad else LOG
        await store.write_outputs([Output(attempt.job, run, number, text)])
        error = "exit code 1: the bank answers 503" if is_bad else None
        ending = Ending(
            attempt.job, run, number, attempt.token, outcome, begun, ended, error=error,
            exit_code=1 if is_bad else 0, has_output=True,
        )  # fmt: skip
        await store.finish(node, [ending], ended, plan_ended)


async def declare(ops: Operations, source: str, declared: Sequence[Job]) -> None:
    """Have a source declare jobs."""
    now, store = await ops.store.now(), ops.store
    await store.reconcile(
        source, await store.revision(source), uuid4().hex[:12], Changes(tuple(declared)),
        declared=lambda job, record: plan_declared(job, record, now),
        removed=lambda record: plan_removed(record, now),
    )  # fmt: skip


def make_shop() -> tuple[ShopHome, StillClock, FullStore]:
    """The shop, as it is at `NOW`."""
    clock = StillClock(BEGIN)
    store = MemoryStore(clock, lease=LEASE)
    asyncio.run(furnish(store, clock))
    return ShopHome(store, clock), clock, store
