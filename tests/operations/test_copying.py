"""A store copied into another of any kind: what the copy has, what is refused, and that it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.clock import SystemClock
from foliot.engine.plan_command import Pause, RunNow, plan_command
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.errors import StoreError
from foliot.model.access import Scope, Token
from foliot.model.attempt import Attempt, Ending, Outcome, Trigger
from foliot.model.audit import AuditEntry, AuditOutcome
from foliot.model.decision import Decision
from foliot.model.job import Action, Job
from foliot.model.pipeline import Pipeline, PipelineStatus
from foliot.model.policy import Notify, OnLost, Policy, Retry
from foliot.model.state import Node, Skip
from foliot.operations.copying import Copied, copy_store
from foliot.protocols import AlertQuery, AlertState, Changes, JobQuery, Output, RunQuery
from foliot.schedules import Cron, Every
from foliot.stores.memory import MemoryStore
from foliot.wiring import FullStore, open_store
from real_mongodb import mongodb_url  # noqa: F401 - a fixture
from real_postgres import shared_url
from real_redis import redis_url_of
from stores.mongodb.opening import fresh as fresh_database
from stores.postgres.opening import fresh as fresh_schema
from stores.redis.opening import fresh as fresh_namespace

LEASE, HOUR = timedelta(seconds=30), timedelta(hours=1)
KINDS = ("sqlite", "postgres", "redis", "mongodb")
# Each kind is copied from and to in `make test`; `make prove` has every pair.
QUICK = set(zip(KINDS, (*KINDS[1:], KINDS[0]), strict=True))
PAIRS = [
    pytest.param(old, new, marks=() if (old, new) in QUICK else pytest.mark.prove)
    for old in KINDS
    for new in KINDS
]
HOURLY = Job(source="shop", name="hourly", schedule=Cron("0 * * * *"), action=Action(kind="k"))
FLAKY = Job(
    source="shop", name="größe", schedule=Cron("0 6 * * *", timezone="Europe/Berlin"),
    action=Action(kind="k", data={"to": ["ann"]}), queue="mail",
    policy=Policy(retry=Retry(max=3, delay="1h"), on_lost=OnLost.RESTART),
)  # fmt: skip
GONE = replace(HOURLY, name="gone", schedule=Every("1h"))
LOUD = replace(HOURLY, name="loud", policy=Policy(notify=Notify(("ops",))))
DROPPED = replace(HOURLY, name="dropped")
ADDED = replace(HOURLY, source="shop.added", name="remind-7")
ROOM = {"default": 99, "mail": 99}


class Furnisher:
    """Gives a store a past, by the planner itself, at the store's own time."""

    def __init__(self, store: FullStore) -> None:
        self.store = store
        self._claims = 0

    async def declare(self, *jobs: Job, source: str = "shop", removed: tuple[str, ...] = ()) -> None:
        now, base = await self.store.now(), await self.store.revision(source)
        await self.store.reconcile(
            source, base, f"r{int((base or 'r0')[1:]) + 1}", Changes(jobs, removed),
            declared=lambda job, record: plan_declared(job, record, now),
            removed=lambda record: plan_removed(record, now),
        )  # fmt: skip

    async def start(self, job: Job, request: str, node: str) -> Attempt:
        now = await self.store.now()
        command = RunNow(request, payload='{"n": "ü"}')
        await self.store.update(job.key, lambda record: plan_command(record, command, now))
        self._claims += 1
        claimed = await self.store.claim(node, await self.store.now(), ROOM, plan_due, f"c{self._claims}")
        found: Attempt = next(attempt for _, attempt in claimed.runs if attempt.job == job.key)
        return found

    async def end(self, attempt: Attempt, node: str, outcome: Outcome = Outcome.SUCCEEDED) -> None:
        now, error = await self.store.now(), None if outcome is Outcome.SUCCEEDED else "exit code 3: \x07no"
        ending = Ending(attempt.job, *attempt.key, attempt.token, outcome, now, now, error, exit_code=3)
        await self.store.write_outputs([Output(attempt.job, *attempt.key, f"wörds of {attempt.request}\n")])
        await self.store.finish(node, [ending], now, plan_ended)

    async def furnish(self) -> None:
        """Two sources, jobs that changed and went and came back, runs of all sorts, and what is beside."""
        await self.declare(HOURLY, FLAKY, GONE, DROPPED, LOUD)
        await self.declare(replace(HOURLY, schedule=Cron("30 * * * *")), replace(FLAKY, revision="abc"))
        await self.declare(removed=("gone", "dropped"))
        await self.declare(replace(GONE, schedule=Every("2h")), HOURLY)
        await self.declare(ADDED, source="shop.added")
        await self.store.write_source_status("shop", '{"error": "größer"}')
        await self.store.join(Node("n1", queues=("default", "mail")))
        for number in range(3):
            await self.end(await self.start(HOURLY, f"hour-{number}", "n1"), "n1")
        await self.end(await self.start(FLAKY, "fails", "n1"), "n1", Outcome.FAILED)  # a retry waits
        await self.end(await self.start(LOUD, "alerts", "n1"), "n1", Outcome.FAILED)
        await self.start(GONE, "dies", "n1")
        await self._pause_and_skip()
        await self._beside()
        await self.store.leave("n1")

    async def _pause_and_skip(self) -> None:
        now = await self.store.now()
        await self.store.update(
            HOURLY.key, lambda record: plan_command(record, Pause("the disk is full"), now)
        )
        skips = tuple(Skip(HOURLY.key, now - n * HOUR, now - n * HOUR, "the job was paused") for n in (3, 2))
        await self.store.update(HOURLY.key, lambda record: Decision(record.state, skips=skips))
        waiting = await self.store.waiting("ops", 9)
        ids = [one.alert.id for one in waiting]
        await self.store.settle("ops", ids, AlertState.REFUSED, now, "550 no such user")

    async def _beside(self) -> None:
        now = await self.store.now()
        await self.store.add_token(Token("t1", "ann", "ab" * 32, Scope.READ, now))
        await self.store.note_token_used("t1", now)
        await self.store.write_audit(
            AuditEntry("a1", now, "cli:ann@host", "pause", "job:shop/hourly", outcome=AuditOutcome.DONE)
        )
        action = Action(kind="http:get")
        await self.store.add_pipeline(Pipeline("p1", "sales", "gold", "daily", action, now, now, version=3))


@pytest.fixture
def url_of(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str, str], str]:
    def make(kind: str, name: str) -> str:
        if kind == "postgres":
            return fresh_schema(shared_url())
        if kind == "redis":
            return fresh_namespace(redis_url_of("redis"))
        if kind == "mongodb":
            return fresh_database(str(request.getfixturevalue("mongodb_url")))
        return f"sqlite:///{tmp_path}/{name}.db"

    return make


@asynccontextmanager
async def both(old: str, new: str) -> AsyncIterator[tuple[FullStore, FullStore]]:
    clock = SystemClock()
    async with open_store(old, clock, lease=LEASE) as first, open_store(new, clock, lease=LEASE) as second:
        yield first, second


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scene()

    asyncio.run(whole())


async def filled() -> MemoryStore:
    store = MemoryStore(SystemClock(), lease=LEASE)
    await Furnisher(store).furnish()
    return store


@pytest.mark.req("OWN-19")
@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_jobs_and_history_are_copied_between_any_two_stores(
    old: str, new: str, url_of: Callable[[str, str], str]
) -> None:
    async def scene() -> None:
        async with both(url_of(old, "old"), url_of(new, "new")) as (first, second):
            await Furnisher(first).furnish()
            before = await first.jobs(JobQuery(with_removed=True))
            copied = await copy_store(first, second)
            assert copied == Copied(
                {
                    "sources": 2, "jobs": 6, "versions": 9, "revisions": 4, "attempts": 8, "outputs": 5,
                    "skips": 2, "alerts": 1, "tokens": 1, "audit entries": 1, "pipelines": 1,
                }
            )  # fmt: skip
            await _check(first, second)
            assert await first.jobs(JobQuery(with_removed=True)) == before, "the original is as it was"
            await _goes_on(second)

    play(scene)


async def _check(old: FullStore, new: FullStore) -> None:
    """By hand, where the copy compares itself by its own code."""
    copies = {view.key: view for view in await new.jobs(JobQuery(with_removed=True))}
    for view in await old.jobs(JobQuery(with_removed=True)):
        copy = copies[view.key]
        assert view.record is not None
        assert copy.record is not None
        assert copy.record.job == view.record.job
        assert copy.last_success_at == view.last_success_at
        if view.key != GONE.key:  # whose node has died
            assert copy.record == view.record
            assert set(await new.runs(RunQuery(view.key))) == set(await old.runs(RunQuery(view.key)))
        assert await new.versions(view.key) == await old.versions(view.key)
    assert await new.revisions("shop") == await old.revisions("shop")
    assert await new.sources() == await old.sources()
    lost = [attempt for attempt in await new.runs(RunQuery(GONE.key)) if not attempt.is_open]
    assert [attempt.outcome for attempt in lost] == [Outcome.LOST]
    (alert,) = await new.alerts(AlertQuery())
    assert (alert.state, alert.answer) == (AlertState.REFUSED, "550 no such user")
    output = await new.output(f"{HOURLY.key}!hour-1", 1)
    assert output is not None
    assert output.text == "wörds of hour-1\n"


async def _goes_on(store: FullStore) -> None:
    """A node on the copy works: it is told of nothing that was lost, and runs what is asked for."""
    await store.join(Node("n2", queues=("default", "mail")))
    recovered = await store.recover(99, await store.now(), plan_lost)
    assert recovered.buried == ()
    furnisher = Furnisher(store)
    attempt = await furnisher.start(replace(HOURLY, name="remind-7", source="shop.added"), "again", "n2")
    await furnisher.end(attempt, "n2")
    restarted = [attempt for attempt in await store.runs(RunQuery(GONE.key)) if attempt.is_running]
    assert [(one.number, one.trigger, one.node) for one in restarted] == [(2, Trigger.LOST, "n2")]
    assert (await store.jobs(JobQuery(keys=frozenset((ADDED.key,)))))[0].last_success_at is not None


def test_a_store_on_which_a_node_works_is_not_copied() -> None:
    async def scene() -> None:
        old = await filled()
        await old.join(Node("n9", host="web-1", process=7))
        new = MemoryStore(SystemClock(), lease=LEASE)
        with pytest.raises(StoreError, match=r"a node works on the store: n9 \(web-1, process 7\)"):
            await copy_store(old, new)
        assert await new.sources() == ()

    play(scene)


def test_a_store_that_is_not_empty_is_left_as_it_is() -> None:
    async def scene() -> None:
        old, new = await filled(), MemoryStore(SystemClock(), lease=LEASE)
        await Furnisher(new).declare(HOURLY)
        before = await new.jobs(JobQuery())
        with pytest.raises(StoreError, match="is not empty, and is left as it is"):
            await copy_store(old, new)
        assert await new.jobs(JobQuery()) == before

    play(scene)


@pytest.mark.parametrize("kept", ["token", "audit", "pipeline", "removed pipeline"])
def test_a_store_that_has_no_job_but_something_else_is_left_as_it_is(kept: str) -> None:
    async def scene() -> None:
        old, new = await filled(), MemoryStore(SystemClock(), lease=LEASE)
        now = await new.now()
        if kept == "token":
            await new.add_token(Token("t9", "bob", "cd" * 32, Scope.ADMIN, now))
        elif kept == "audit":
            entry = AuditEntry("a9", now, "cli:bob@host", "pause", "job:x/y", outcome=AuditOutcome.DONE)
            await new.write_audit(entry)
        else:
            status = PipelineStatus.REMOVED if kept.startswith("removed") else PipelineStatus.ACTIVE
            action = Action(kind="http:get")
            await new.add_pipeline(Pipeline("p9", "sales", "gold", "daily", action, now, now, status=status))
        with pytest.raises(StoreError, match="is not empty, and is left as it is"):
            await copy_store(old, new)
        assert await new.jobs(JobQuery()) == ()

    play(scene)


class Forgetful(MemoryStore):
    """A store that loses outputs."""

    async def write_outputs(self, outputs: object) -> None:
        del outputs


def test_a_copy_that_differs_is_told() -> None:
    async def scene() -> None:
        old, new = await filled(), Forgetful(SystemClock(), lease=LEASE)
        with pytest.raises(StoreError, match=r"differs from the store in 5 place\(s\): the output of"):
            await copy_store(old, new)

    play(scene)


class Broken(MemoryStore):
    """A store that fails when the first history is written."""

    async def write_outputs(self, outputs: object) -> None:
        del outputs
        raise StoreError("the disk is full")


def test_a_copy_that_was_broken_off_starts_nothing() -> None:
    async def scene() -> None:
        old, new = await filled(), Broken(SystemClock(), lease=LEASE)
        with pytest.raises(StoreError, match="the disk is full"):
            await copy_store(old, new)
        jobs = [view.record for view in await new.jobs(JobQuery()) if view.record is not None]
        assert jobs
        assert any(record.state.wake_at is None for record in jobs)
        assert all(record.state.wake_at is None for record in jobs if record.job.key == HOURLY.key)

    play(scene)
