"""Alerts on their way: decided with a run, delivered by a job of their channel, by nodes that have it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.scene import NEVER, play
from foliot import Every, Expect, Foliot, Notify
from foliot.alerts.channel import SENT, Sent
from foliot.alerts.rate import Rate
from foliot.app.alerts import AlertsPart
from foliot.app.delivery import Delivery, delivery_job, key_of
from foliot.app.part import Workplace
from foliot.clock import SystemClock
from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.errors import InvalidPolicyError
from foliot.model.alert import Alert, AlertKind
from foliot.model.attempt import Outcome
from foliot.model.decision import Decision
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.model.state import Record
from foliot.protocols import AlertQuery, AlertState, Changes, ChannelAlert
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock

NOW = datetime(2026, 11, 16, 10, tzinfo=UTC)
RUN: Any = None  # a delivery does not ask


class Pigeon:
    """A channel that notes what it was given. `answers`: what it says first; then all goes well."""

    def __init__(self, *answers: Sent | Exception, lacks: str | None = None) -> None:
        self.answers = list(answers)
        self.sent: list[list[Alert]] = []
        self.rate: Rate | None = Rate()
        self._lacks = lacks

    def describe(self) -> str:
        return "a pigeon"

    def missing(self) -> str | None:
        return self._lacks

    async def send(self, messages: Sequence[Alert]) -> Sent:
        self.sent.append(list(messages))
        answer = self.answers.pop(0) if self.answers else SENT
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def kinds(self) -> list[AlertKind]:
        return [alert.kind for message in self.sent for alert in message]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await SystemClock().wait(timedelta(milliseconds=5))


# -- the whole way -----------------------------------------------------------------------------------


@pytest.mark.req("OWN-02")
def test_a_failure_and_the_recovery_reach_the_channel(url: str) -> None:
    async def scene() -> None:
        pigeon, fails = Pigeon(), True
        app = Foliot(url, name="test", channels={"ops": pigeon}, notify="ops")

        @app.job(NEVER)
        async def backup() -> None:
            if fails:
                raise RuntimeError("the disk is full")

        async with app:
            await app.trigger("backup")
            await until(lambda: len(pigeon.sent) == 1)
            fails = False
            await app.trigger("backup")
            await until(lambda: len(pigeon.sent) == 2)
        assert pigeon.kinds == [AlertKind.FAILURE, AlertKind.RECOVERY]
        failure = pigeon.sent[0][0]
        assert failure.job == "test/backup"
        assert failure.error is not None
        assert "the disk is full" in failure.error

    play(scene)


def test_a_job_may_say_for_itself_who_is_told() -> None:
    app = Foliot("memory://", notify="ops")

    @app.job(NEVER)
    def usual() -> None: ...

    @app.job(NEVER, notify=["admins"], expect=Expect(success_every=timedelta(hours=1)))
    def special() -> None: ...

    @app.job(NEVER, notify=None)
    def silent() -> None: ...

    jobs = {job.name: job.policy for job in app._registry.snapshot().jobs}
    assert jobs["usual"].notify == Notify("ops")
    assert jobs["special"].notify == Notify("admins")
    assert jobs["special"].expect is not None
    assert not jobs["silent"].is_watched


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"channels": ["ops"]}, "channels"),
        ({"channels": {"ops": 5}}, "channels.ops"),
        ({"channels": {"two words": Pigeon()}}, "notify.to"),
        ({"notify": 5}, "notify"),
        ({"notify": "two words"}, "notify.to"),
        ({"executors": {"alert": Pigeon()}}, "executors"),
    ],
)
def test_what_is_wrong_is_refused_when_it_is_written(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidPolicyError) as caught:
        Foliot("memory://", **settings)
    assert caught.value.details["field"] == field


# -- a delivery --------------------------------------------------------------------------------------


def on_stage(scene: Callable[[MemoryStore, ManualClock], Coroutine[Any, Any, None]]) -> None:
    clock = ManualClock(NOW)
    asyncio.run(scene(MemoryStore(clock), clock))


async def declare(store: MemoryStore, *jobs: Job) -> None:
    for job in jobs:
        base, now = await store.revision(job.source), await store.now()
        await store.reconcile(
            job.source, base, f"r-{job.name}", Changes((job,)),
            declared=PlanDeclared(now), removed=lambda record: plan_removed(record, NOW),
        )  # fmt: skip


async def fill(store: MemoryStore, count: int, at: datetime = NOW) -> None:
    """So many alerts that wait."""
    alerts = tuple(
        ChannelAlert("ops", Alert(f"a{n:04}", at, AlertKind.FAILURE, f"test/j{n}")) for n in range(count)
    )
    await declare(store, delivery_job("ops"))

    def tell(record: Record) -> Decision:
        return Decision(record.state._replace(token=record.state.token + 1), alerts=alerts)

    await store.update(key_of("ops"), tell)


@pytest.mark.parametrize(("count", "messages"), [(5, 5), (6, 1)])
def test_few_alerts_are_sent_apart_and_many_together(count: int, messages: int) -> None:
    async def scene(store: MemoryStore, _: ManualClock) -> None:
        pigeon = Pigeon()
        await fill(store, count)
        assert (await Delivery("ops", pigeon, store).execute(RUN)).outcome is Outcome.SUCCEEDED
        assert len(pigeon.sent) == messages
        assert not await store.waiting("ops", 10)

    on_stage(scene)


def test_two_thousand_failures_are_twenty_messages_at_most() -> None:
    async def scene(store: MemoryStore, _: ManualClock) -> None:
        pigeon = Pigeon()
        await fill(store, 2000)
        while await store.waiting("ops", 1):
            await Delivery("ops", pigeon, store).execute(RUN)
        assert len(pigeon.sent) <= 20
        assert sorted(alert.id for message in pigeon.sent for alert in message) == [
            f"a{n:04}" for n in range(2000)
        ]

    on_stage(scene)


@pytest.mark.parametrize("trouble", [Sent.again("503"), OSError("the node dies")])
def test_what_could_not_be_sent_waits_and_is_sent_again_under_its_id(trouble: Sent | Exception) -> None:
    async def scene(store: MemoryStore, _: ManualClock) -> None:
        pigeon = Pigeon(SENT, trouble)
        await fill(store, 3)
        delivery = Delivery("ops", pigeon, store)
        try:  # some of it was taken: the rest is no failure yet, so that it is tried again soon
            assert (await delivery.execute(RUN)).outcome is Outcome.SUCCEEDED
        except OSError:
            assert isinstance(trouble, OSError)
        assert [one.alert.id for one in await store.waiting("ops", 10)] == ["a0001", "a0002"]
        assert (await delivery.execute(RUN)).outcome is Outcome.SUCCEEDED
        assert [alert.id for [alert] in pigeon.sent] == ["a0000", "a0001", "a0001", "a0002"]

    on_stage(scene)


def test_a_channel_that_takes_nothing_is_tried_again_ever_later() -> None:
    async def scene(store: MemoryStore, _: ManualClock) -> None:
        await fill(store, 3)
        result = await Delivery("ops", Pigeon(Sent.again("503")), store).execute(RUN)
        assert (result.outcome, result.error) == (Outcome.FAILED, "503")

    on_stage(scene)


def test_what_a_channel_refuses_and_what_is_a_day_old_is_not_tried_again() -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        pigeon = Pigeon(Sent.refused("404"))
        await fill(store, 1, NOW - timedelta(hours=25))
        await Delivery("ops", pigeon, store).execute(RUN)
        assert pigeon.sent == []
        (expired,) = await store.alerts(AlertQuery(state=AlertState.EXPIRED))
        assert expired.settled_at == clock.now()
        await fill(store, 2, NOW)
        await Delivery("ops", pigeon, store).execute(RUN)
        (refused,) = await store.alerts(AlertQuery(state=AlertState.REFUSED))
        assert (refused.alert.id, refused.answer) == ("a0001", "404")

    on_stage(scene)


@pytest.mark.req("OWN-04")
def test_a_channel_gets_no_more_messages_than_its_rate_and_the_rest_together() -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        pigeon = Pigeon()
        delivery = Delivery("ops", pigeon, store)
        await declare(store, delivery_job("ops"))
        for number in range(60):
            await tell_one(store, number, clock.now())
            if clock.now() >= delivery.not_before:
                await delivery.execute(RUN)
            await clock.advance(timedelta(seconds=5))
        assert len(pigeon.sent) == 20
        assert delivery.not_before > clock.now()
        await clock.advance(timedelta(minutes=10))
        await Delivery("ops", pigeon, store).execute(RUN)  # another node, which knows by the store
        assert len(pigeon.sent) == 21
        assert sorted(alert.id for message in pigeon.sent for alert in message) == [
            f"b{n:04}" for n in range(60)
        ]

    on_stage(scene)


async def tell_one(store: MemoryStore, number: int, at: datetime) -> None:
    alert = ChannelAlert("ops", Alert(f"b{number:04}", at, AlertKind.FAILURE, f"test/j{number}"))

    def tell(record: Record) -> Decision:
        return Decision(record.state._replace(token=record.state.token + 1), alerts=(alert,))

    await store.update(key_of("ops"), tell)


def test_a_channel_that_asks_to_wait_is_not_asked_before() -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        pigeon = Pigeon(Sent.again("429", timedelta(minutes=7)))
        part, host = AlertsPart({"ops": pigeon}), workplace(store, clock)
        delivery = (await part.begin(host))["alert:ops"]
        assert isinstance(delivery, Delivery)
        await fill(store, 1)
        assert (await delivery.execute(RUN)).outcome is Outcome.SUCCEEDED
        assert len(await store.waiting("ops", 10)) == 1
        await part._ask_for_runs(host)
        assert await attempts(store) == 0
        await clock.advance(timedelta(minutes=7))
        await part._ask_for_runs(host)
        assert await attempts(store) == 1

    on_stage(scene)


def test_alerts_that_cannot_be_read_are_not_tried_every_two_seconds() -> None:
    class Damaged(MemoryStore):
        async def waiting(self, channel: str, limit: int) -> tuple[ChannelAlert, ...]:
            del channel, limit
            return ()

    async def scene(clock: ManualClock) -> None:
        store, pigeon = Damaged(clock), Pigeon()
        part, host = AlertsPart({"ops": pigeon}), workplace(store, clock)
        delivery = (await part.begin(host))["alert:ops"]
        assert isinstance(delivery, Delivery)
        await fill(store, 1)
        assert (await delivery.execute(RUN)).outcome is Outcome.SUCCEEDED
        await part._ask_for_runs(host)
        assert await attempts(store) == 0
        await clock.advance(timedelta(seconds=30))
        await part._ask_for_runs(host)
        assert await attempts(store) == 1

    asyncio.run(scene(ManualClock(NOW)))


def test_a_node_without_the_secret_leaves_a_channel_to_others(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        host = workplace(store, clock)
        part = AlertsPart({"ops": Pigeon(lacks="env:OPS is not set"), "admins": Pigeon()})
        assert sorted(await part.begin(host)) == ["alert:admins"]
        await fill(store, 1)
        await part._ask_for_runs(host)
        assert await attempts(store) == 0

    on_stage(scene)
    assert "env:OPS is not set" in caplog.text


# -- asking for runs ---------------------------------------------------------------------------------


def workplace(store: MemoryStore, clock: ManualClock) -> Workplace:
    return Workplace(store, clock, timedelta(seconds=30), lambda _: None, lambda _: None, lambda *_: None)


def test_one_run_is_asked_for_while_alerts_wait_by_nodes_that_have_the_channel() -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        host = workplace(store, clock)
        part, stranger = AlertsPart({"ops": Pigeon()}), AlertsPart({"admins": Pigeon()})
        executors = {**await part.begin(host), **await stranger.begin(host), **await part.begin(host)}
        assert sorted(executors) == ["alert:admins", "alert:ops"]
        await part._ask_for_runs(host)
        assert await attempts(store) == 0
        await fill(store, 3)
        await stranger._ask_for_runs(host)
        assert await attempts(store) == 0
        for _ in range(3):
            await part._ask_for_runs(host)
        assert await attempts(store) == 1

    on_stage(scene)


async def attempts(store: MemoryStore) -> int:
    return len(store._records[key_of("ops")].attempts)


def test_overdue_jobs_that_tell_nobody_do_not_hide_one_that_does() -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        action = Action(kind="nobody:has")
        policy = Policy(notify=Notify("ops"), expect=Expect(start_within=timedelta(minutes=1)))
        quiet = [
            Job(source=f"quiet{n}", name="job", schedule=Every("1h"), action=action) for n in range(1200)
        ]
        loud = Job(source="test", name="job", schedule=Every("1h"), action=action, policy=policy)
        await declare(store, *quiet, loud)
        await clock.advance(timedelta(hours=1, minutes=2))
        await AlertsPart({"ops": Pigeon()})._look_at_overdue(workplace(store, clock))
        assert [one.alert.kind for one in await store.waiting("ops", 10)] == [AlertKind.LATE]

    on_stage(scene)


@pytest.mark.req("OWN-03")
def test_a_job_that_no_node_serves_is_told_to_be_late() -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        policy = Policy(notify=Notify("ops"), expect=Expect(start_within=timedelta(minutes=1)))
        action = Action(kind="nobody:has")
        job = Job(source="test", name="job", schedule=Every("1h"), action=action, policy=policy)
        await declare(store, job)
        part, host = AlertsPart({"ops": Pigeon()}), workplace(store, clock)
        for wait, told in ((timedelta(hours=1), 0), (timedelta(seconds=61), 1), (timedelta(minutes=2), 1)):
            await clock.advance(wait)
            await part._look_at_overdue(host)
            kinds = [one.alert.kind for one in await store.waiting("ops", 10)]
            assert kinds == [AlertKind.LATE] * told

    on_stage(scene)
