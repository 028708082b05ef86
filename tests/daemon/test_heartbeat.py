"""A sign of life each minute, while the store answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from app.test_alerts import until, workplace
from foliot.daemon.heartbeat import Heartbeat
from foliot.errors import StoreUnavailableError
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from web_server import WebServer, reply, web_server

MINUTE = timedelta(minutes=1)


class Moody(MemoryStore):
    """A store that may be away."""

    is_away = False
    asked = 0

    async def now(self) -> datetime:
        self.asked += 1
        if self.is_away:
            raise StoreUnavailableError("now", "it is away")
        return await super().now()


def live(server: WebServer, scene: Callable[[Moody, ManualClock], Awaitable[None]]) -> None:
    """A heartbeat that lives while a scene is played."""

    async def play() -> None:
        clock = ManualClock()
        store, beat = Moody(clock), Heartbeat(f"http://localhost:{server.port}/alive")
        assert await beat.begin(workplace(store, clock)) == {}
        life = asyncio.ensure_future(beat.live())
        await scene(store, clock)
        life.cancel()

    asyncio.run(asyncio.wait_for(play(), 60))


async def rests(clock: ManualClock) -> None:
    """Wait until the heartbeat has done what there was to do, and waits for the next minute."""
    await until(lambda: bool(clock._waiting))


@pytest.mark.req("OWN-03")
def test_each_minute_has_a_ping_and_none_has_one_while_the_store_is_away() -> None:
    with web_server() as server:

        async def scene(store: Moody, clock: ManualClock) -> None:
            pings = []
            for is_away in (False, False, True, False):
                await rests(clock)
                pings.append(len(server.asked))
                store.is_away = is_away
                await clock.advance(MINUTE)
            await rests(clock)
            assert [*pings, len(server.asked)] == [1, 2, 3, 3, 4]

        live(server, scene)
    assert {asked.line for asked in server.asked} == {"GET /alive HTTP/1.1"}


def test_an_answer_that_stays_the_same_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with web_server(reply(404), reply(404), reply(200), reply(404)) as server:

        async def scene(_: Moody, clock: ManualClock) -> None:
            for _minute in range(3):
                await rests(clock)
                await clock.advance(MINUTE)
            await rests(clock)

        live(server, scene)
    assert len([one for one in caplog.records if str(one.msg).startswith("ping_failed")]) == 2
