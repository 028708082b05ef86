"""A test of a channel goes the way of every alert."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import timedelta

import pytest

from app.scene import NEVER, play
from app.test_alerts import NOW, RUN, Pigeon, attempts, fill, on_stage, workplace
from foliot import Foliot
from foliot.alerts.channel import Sent
from foliot.app.alerts import AlertsPart
from foliot.app.channel_commands import Trial, make_test, mute_channel, send_test
from foliot.app.delivery import Delivery, key_of
from foliot.clock import SystemClock
from foliot.model.alert import AlertKind
from foliot.protocols import AlertState, Clock, RunQuery
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from foliot.wiring import FullStore


async def tried(
    url: str, pigeon: Pigeon, make_clock: Callable[[FullStore], Clock] = lambda _: SystemClock()
) -> list[Trial]:
    app = Foliot(url, name="test", channels={"ops": pigeon})

    @app.job(NEVER)
    def some() -> None: ...

    async with app:
        store = await app._core.store()

        async def test() -> list[Trial]:
            while not await store.nodes():
                await SystemClock().wait(timedelta(milliseconds=10))
            alert = make_test(AlertKind.FAILURE, "test/some", await store.now())
            return await send_test(store, ["ops", "admins"], alert, make_clock(store), timedelta(minutes=2))

        return await app._call(test())


@pytest.mark.parametrize(
    ("answer", "state"),
    [(None, AlertState.SENT), (Sent.refused("it answers 403"), AlertState.REFUSED)],
)
def test_the_answer_of_the_channel_is_the_answer(url: str, answer: Sent | None, state: AlertState) -> None:
    async def scene() -> None:
        pigeon = Pigeon(*([] if answer is None else [answer]))
        nobody, ops = await tried(url, pigeon)
        assert nobody == Trial("admins", None, "no node that lives has the channel")
        assert ops == Trial("ops", state, None if answer is None else "it answers 403")
        ((alert,),) = pigeon.sent
        assert alert.is_test

    play(scene)


class UntilItFails(SystemClock):
    """A clock by which the time is over as soon as a run of the delivery has failed."""

    def __init__(self, store: FullStore) -> None:
        self._store, self._is_over = store, False

    def monotonic(self) -> float:
        return math.inf if self._is_over else 0.0

    async def wait(self, duration: timedelta, until: asyncio.Event | None = None) -> None:
        await super().wait(duration, until)
        runs = await self._store.runs(RunQuery(job=key_of("ops")))
        self._is_over = any(run.error for run in runs)


def test_what_is_not_sent_in_time_is_not_sent_later_and_says_why(url: str) -> None:
    async def scene() -> None:
        pigeon = Pigeon(*[Sent.again("no route to it")] * 99)
        _, ops = await tried(url, pigeon, UntilItFails)
        assert ops == Trial("ops", AlertState.EXPIRED, "no route to it")

    play(scene)


def test_a_muted_channel_holds_back_until_it_is_unmuted() -> None:
    async def scene(store: MemoryStore, clock: ManualClock) -> None:
        pigeon, host = Pigeon(), workplace(store, clock)
        part = AlertsPart({"ops": pigeon})
        delivery = (await part.begin(host))["alert:ops"]
        assert isinstance(delivery, Delivery)
        await fill(store, 1)
        await mute_channel(store, "ops", NOW + timedelta(hours=1), "we know")
        await part._ask_for_runs(host)
        assert await attempts(store) == 0
        await delivery.execute(RUN)  # one that was open before
        assert pigeon.sent == []
        assert len(await store.waiting("ops", 10)) == 1
        await mute_channel(store, "ops", None)
        await part._ask_for_runs(host)
        assert await attempts(store) == 1
        await delivery.execute(RUN)
        assert len(pigeon.sent) == 1

    on_stage(scene)
