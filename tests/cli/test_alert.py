"""`foliot alert`: what channels are told, and muting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cli.shop import Shop
from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.model.alert import Alert, AlertKind
from foliot.model.decision import Decision
from foliot.model.job import Action, Job
from foliot.model.policy import Notify, Policy
from foliot.model.state import Record
from foliot.model.watch import Watch
from foliot.protocols import AlertState, Changes, ChannelAlert
from foliot.schedules import Every
from foliot.stores.sqlite import SqliteStore

JOB = "billing/refresh"


def tell(shop: Shop) -> None:
    """One alert waits, another was refused; the job is watched."""

    async def scene(store: SqliteStore) -> None:
        now = await store.now()
        late = Alert("a1", now - timedelta(minutes=5), AlertKind.LATE, JOB, why="no node has started it")
        failed = Alert("a2", now, AlertKind.FAILURE, JOB, why="failed: it failed")

        def decide(record: Record) -> Decision:
            state = record.state._replace(token=record.state.token + 1, watch=Watch())
            return Decision(state, alerts=(ChannelAlert("ops", late), ChannelAlert("ops", failed)))

        await store.update(JOB, decide)
        await store.settle("ops", ["a1"], AlertState.REFUSED, now, "404 Not Found")

    shop.act(scene)


def test_without_alerts_it_says_so(shop: Shop) -> None:
    assert shop.call("alert", "list").out == "No alerts.\n"
    assert shop.call("alert", "list", "-ojson").json() == {"alerts": []}


def test_alerts_are_listed_the_newest_first(shop: Shop) -> None:
    tell(shop)
    heading, first, second = shop.call("alert", "list").out.splitlines()
    assert heading.split() == ["WHEN", "KIND", "JOB", "CHANNEL", "STATE", "WHY"]
    assert "failure" in first
    assert first.endswith("waiting  failed: it failed")
    assert second.endswith("refused  404 Not Found")
    (waiting,) = shop.call("alert", "list", "--state", "waiting", "-ojson").json()["alerts"]
    assert (waiting["id"], waiting["channel"], waiting["kind"], waiting["job"]) == (
        "a2",
        "ops",
        "failure",
        JOB,
    )
    assert shop.call("alert", "list", "--channel", "admins").out == "No alerts.\n"
    assert len(shop.call("alert", "list", "-n", "1").out.splitlines()) == 2


def test_a_job_that_tells_no_channel_cannot_be_muted(shop: Shop) -> None:
    result = shop.call("alert", "mute", "refresh", "--for", "2h")
    assert result.code == 1
    assert "the job tells no channel" in result.err
    assert shop.call("alert", "mute", "refresh").code == 2
    assert shop.call("alert", "mute", "nothing", "--for", "2h").code == 4


def test_a_job_is_muted_for_a_while(shop: Shop) -> None:
    declare_watched(shop)
    facts = shop.call("alert", "mute", "watched", "--for", "2h", "--reason", "we know", "-ojson").json()
    assert (facts["job"], facts["reason"]) == ("billing/watched", "we know")
    until = datetime.fromisoformat(facts["muted_until"])
    assert until > datetime(2026, 3, 2, 9, 59, tzinfo=UTC)
    assert shop.call("alert", "unmute", "watched").out == "billing/watched is no longer muted\n"


def declare_watched(shop: Shop) -> None:
    job = Job(
        source="billing", name="watched", schedule=Every("1h"), action=Action(kind="python:refresh"),
        policy=Policy(notify=Notify("ops")),
    )  # fmt: skip

    async def scene(store: SqliteStore) -> None:
        now = await store.now()
        await store.reconcile(
            "billing", await store.revision("billing"), "r-watched", Changes((job,)),
            declared=PlanDeclared(now), removed=lambda record: plan_removed(record, now),
        )  # fmt: skip

    shop.act(scene)
