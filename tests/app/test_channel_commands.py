"""A test of a channel goes the way of every alert."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.scene import NEVER, play
from app.test_alerts import Pigeon
from foliot import Foliot
from foliot.alerts.channel import Sent
from foliot.app.channel_commands import Trial, make_test, mute_channel, send_test
from foliot.clock import SystemClock
from foliot.model.alert import AlertKind
from foliot.protocols import AlertState


async def tried(url: str, pigeon: Pigeon, patience: timedelta = timedelta(minutes=2)) -> list[Trial]:
    app = Foliot(url, name="test", channels={"ops": pigeon})

    @app.job(NEVER)
    def some() -> None: ...

    async with app:
        store = await app._core.store()

        async def test() -> list[Trial]:
            while not await store.nodes():
                await SystemClock().wait(timedelta(milliseconds=10))
            alert = make_test(AlertKind.FAILURE, "test/some", await store.now())
            return await send_test(store, ["ops", "admins"], alert, SystemClock(), patience)

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


def test_what_is_not_sent_in_time_is_not_sent_later_and_says_why(url: str) -> None:
    async def scene() -> None:
        pigeon = Pigeon(*[Sent.again("nobody answers")] * 99)
        _, ops = await tried(url, pigeon, timedelta(seconds=4))
        assert ops == Trial("ops", AlertState.EXPIRED, "nobody answers")

    play(scene)


def test_a_muted_channel_holds_back_until_it_is_unmuted(url: str) -> None:
    async def scene() -> None:
        pigeon = Pigeon()
        app = Foliot(url, name="test", channels={"ops": pigeon}, notify="ops")

        @app.job(NEVER)
        def fails() -> None:
            raise RuntimeError("it fails")

        async with app:
            store = await app._core.store()
            await app._call(mute_channel(store, "ops", await app._call(store.now()) + timedelta(hours=1)))
            await app.trigger("fails")
            while not await app._call(store.waiting("ops", 10)):
                await SystemClock().wait(timedelta(milliseconds=10))
            await SystemClock().wait(timedelta(seconds=5))  # two turns of the part that would ask for a run
            assert pigeon.sent == []
            await app._call(mute_channel(store, "ops", None))
            while not pigeon.sent:
                await SystemClock().wait(timedelta(milliseconds=10))

    play(scene)
