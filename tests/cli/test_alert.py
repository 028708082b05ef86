"""`foliot alert`: what channels are told, and muting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cli.shop import Shop
from foliot.app.delivery import declare_deliveries, delivery_job
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
    assert shop.call("alert", "list", "-ojson").json() == {"alerts": [], "muted": []}


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
    assert "the job has no channel for alerts" in result.err
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


def declare_channels(shop: Shop, *names: str) -> None:
    async def scene(store: SqliteStore) -> None:
        await declare_deliveries(store, [delivery_job(name) for name in names])

    shop.act(scene)


def test_a_channel_is_muted_for_a_while_and_shown_so(shop: Shop) -> None:
    declare_channels(shop, "ops", "shop-1.admins")
    assert "ops is muted until" in shop.call("alert", "mute", "ops", "--for", "2h", "--reason", "we know").out
    facts = shop.call("alert", "mute", "admins", "--for", "1h", "-ojson").json()
    assert (facts["channel"], facts["reason"]) == ("shop-1.admins", None)
    shown = shop.call("alert", "list", "-ojson").json()["muted"]
    assert [(one["channel"], one["reason"]) for one in shown] == [("ops", "we know"), ("shop-1.admins", None)]
    lines = shop.call("alert", "list").out.splitlines()
    assert lines[0] == "No alerts."
    assert lines[1].startswith("ops is muted until")
    assert lines[1].endswith(": we know")
    assert shop.call("alert", "unmute", "ops").out == "ops is no longer muted\n"
    assert len(shop.call("alert", "list", "-ojson").json()["muted"]) == 1


def test_a_muted_job_is_shown_where_its_alerts_are_listed(shop: Shop) -> None:
    declare_watched(shop)
    shop.call("alert", "mute", "watched", "--for", "2h")
    assert shop.call("alert", "list", "-ojson").json()["muted"] == []

    async def scene(store: SqliteStore) -> None:
        alert = Alert("a1", await store.now(), AlertKind.LATE, "billing/watched")

        def decide(record: Record) -> Decision:
            state = record.state._replace(token=record.state.token + 1)
            return Decision(state, alerts=(ChannelAlert("ops", alert),))

        await store.update("billing/watched", decide)

    shop.act(scene)
    (shown,) = shop.call("alert", "list", "-ojson").json()["muted"]
    assert shown["job"] == "billing/watched"


def test_a_test_needs_a_channel_that_a_living_node_has(shop: Shop) -> None:
    declare_channels(shop, "ops")
    unknown = shop.call("alert", "test", "nothing")
    assert unknown.code == 4
    assert "the channels are ops" in unknown.err
    lonely = shop.call("alert", "test", "ops")
    assert (lonely.code, lonely.out) == (4, "ops was not sent: no node that lives has the channel\n")
    assert shop.call("alert", "list").out == "No alerts.\n"
    assert shop.call("alert", "test").code == 2
    assert shop.call("alert", "test", "ops", "--job", "refresh").code == 2
    refused = shop.call("alert", "test", "--job", "refresh")
    assert refused.code == 1
    assert "the job has no channel for alerts" in refused.err
    declare_watched(shop)
    assert shop.call("alert", "test", "--job", "watched", "-ojson").json() == {
        "tests": [{"channel": "ops", "state": None, "answer": "no node that lives has the channel"}]
    }
    assert shop.call("alert", "test", "ops", "--kind", "ended").code == 2


def test_a_name_that_two_repositories_have_is_asked_back(shop: Shop) -> None:
    declare_channels(shop, "a-1.ops", "b-2.ops")
    result = shop.call("alert", "test", "ops")
    assert result.code == 2
    assert "a-1.ops" in result.err


def test_pings_hide_no_alert_and_are_listed_with_their_channel(shop: Shop) -> None:
    async def scene(store: SqliteStore) -> None:
        now = await store.now()
        pings = [
            ChannelAlert("hc", Alert(f"p{n:04}", now + n * timedelta(seconds=1), AlertKind.ENDED, JOB))
            for n in range(1500)
        ]
        late = ChannelAlert("ops", Alert("a1", now, AlertKind.LATE, JOB))

        def decide(record: Record) -> Decision:
            return Decision(record.state._replace(token=record.state.token + 1), alerts=(late, *pings))

        await store.update(JOB, decide)

    shop.act(scene)
    assert [one["id"] for one in shop.call("alert", "list", "-ojson").json()["alerts"]] == ["a1"]
    assert len(shop.call("alert", "list", "--channel", "hc", "-ojson").json()["alerts"]) == 20
