"""What a delivery adds to alerts and leaves out, and what is told of starts."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from app.scene import NEVER, play
from app.test_alerts import NOW, RUN, Pigeon, declare, fill, on_stage, until, workplace
from foliot import Foliot
from foliot.alerts.channel import SENT, Sent
from foliot.app.alerts import AlertsPart
from foliot.app.delivery import Delivery, delivery_job, key_of
from foliot.model.alert import Alert, AlertKind
from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.protocols import AlertState, ChannelAlert, Output
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock


class Letter(Pigeon):
    """A channel that shows output."""

    shows_output = True


@pytest.mark.parametrize(("pigeon", "output"), [(Letter(), "the end"), (Pigeon(), None)])
def test_channels_that_show_output_are_given_what_the_attempt_wrote(
    pigeon: Pigeon, output: str | None
) -> None:
    async def scene(store: MemoryStore, _: ManualClock) -> None:
        run = "test/j@2026-11-16T10:00:00Z"
        await declare(store, delivery_job("ops"))
        await store.write_outputs([Output("test/j", run, 1, "x" * 20_000 + "the end")])
        alert = Alert("a", NOW, AlertKind.FAILURE, "test/j", run=run, attempt=1)
        await put(store, alert, alert._replace(id="b", attempt=2))
        await Delivery("ops", pigeon, store).execute(RUN)
        (first,), (second,) = pigeon.sent
        assert second.output is None
        assert (first.output or "").endswith(output) if output else first.output is None
        assert len(first.output or "") <= 10_000

    on_stage(scene)


async def put(store: MemoryStore, *alerts: Alert) -> None:
    def tell(record: Record) -> Decision:
        state = record.state._replace(token=record.state.token + 1)
        return Decision(state, alerts=tuple(ChannelAlert("ops", alert) for alert in alerts))

    await store.update(key_of("ops"), tell)


def test_the_end_of_a_run_that_no_ping_could_tell_is_forgotten_after_ten_minutes() -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        pigeon = Pigeon()
        await declare(store, delivery_job("ops"))
        await put(store, *(Alert(kind, NOW, kind, "test/j") for kind in (AlertKind.ENDED, AlertKind.LATE)))
        await clock.advance(timedelta(minutes=11))
        await Delivery("ops", pigeon, store).execute(RUN)
        assert pigeon.kinds == [AlertKind.LATE]

    on_stage(scene)


def test_the_same_refusal_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(store: MemoryStore, _: ManualClock) -> None:
        again, other = Sent.refused("it answers 403"), Sent.refused("it answers 404")
        await fill(store, 5)
        await Delivery("ops", Pigeon(again, again, other, SENT, other), store).execute(RUN)

    on_stage(scene)
    lines = [str(r.msg) for r in caplog.records if str(r.msg).startswith("alert_refused")]
    assert [line.partition("answers ")[2][:3] for line in lines] == ["403", "404", "404"]


def test_what_is_settled_and_what_waits_is_told_to_the_metrics() -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        seen: list[Any] = []
        host = workplace(store, clock)._replace(watch=seen.append)
        part = AlertsPart({"ops": Pigeon(), "admins": Pigeon()})
        delivery = (await part.begin(host))["alert:ops"]
        assert isinstance(delivery, Delivery)
        await fill(store, 3)
        await part._count_waiting(host)
        assert seen.pop().waiting == {"ops": 3, "admins": 0}
        await delivery.execute(RUN)
        assert [one.state for health in seen for one in health.settled] == [AlertState.SENT] * 3

    on_stage(scene)


def test_a_channel_is_used_as_soon_as_its_secret_is_there() -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        learned: dict[str, Any] = {}
        host, pigeon = workplace(store, clock)._replace(learn=learned.update), Pigeon(lacks="env:OPS")
        part = AlertsPart({})
        assert await part.begin(host) == {}
        await part.offer({"ops": pigeon})
        await part._turn(host, is_long=True)
        assert learned == {}
        pigeon._lacks = None
        await part._turn(host, is_long=True)
        assert list(learned) == ["alert:ops"]
        other = Pigeon()
        await part.offer({"ops": other})
        assert learned["alert:ops"].channel is other

    on_stage(scene)


class Watched(Pigeon):
    """A channel that is told of starts; it never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[tuple[str, int]] = []

    async def ping_start(self, run: str, attempt: int) -> Sent:
        self.starts.append((run, attempt))
        await asyncio.Event().wait()
        return SENT


def test_the_start_of_a_run_is_pinged_and_a_service_that_hangs_delays_nothing(url: str) -> None:
    async def scene() -> None:
        watched = Watched()
        app = Foliot(url, name="test", channels={"hc": watched})

        @app.job(NEVER, ping="hc")
        async def backup() -> None: ...

        async with app:
            run = await app.trigger("backup")
            await app.finished(run)
            await until(lambda: bool(watched.sent))
            assert watched.starts == [(run, 1)]
        assert watched.kinds == [AlertKind.ENDED]

    play(scene)
