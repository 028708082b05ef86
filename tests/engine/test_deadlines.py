"""Deadlines: each is told of at its time, and those of attempts that have ended take no room for long."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from foliot.engine.deadlines import _SPARE, Deadlines, Key
from foliot.testing.clock import ManualClock

SECOND = timedelta(seconds=1)


class Scene:
    """Deadlines, what is held, and what was over."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.held: set[Key] = set()
        self.over: list[str] = []
        self.deadlines = Deadlines(
            self.clock, lambda: len(self.held), self.held.__contains__, lambda key: self.over.append(key[0])
        )

    def add(self, timeout: timedelta, *names: str) -> None:
        keys: list[Key] = [(name, 1) for name in names]
        self.held.update(keys)
        self.deadlines.add(timeout, keys)

    async def serve(self) -> None:
        while True:
            await self.deadlines.turn()


async def _settled(scene: Scene, duration: timedelta) -> None:
    await scene.clock.advance(duration)
    await scene.clock.settle()


def test_each_is_told_of_at_its_time_whatever_the_order() -> None:
    async def play() -> None:
        scene = Scene()
        service = asyncio.ensure_future(scene.serve())
        await scene.clock.settle()
        scene.add(10 * SECOND, "late", "later")
        scene.add(2 * SECOND, "soon")  # it comes before what is waited for
        scene.add(2 * SECOND, "as soon")
        await _settled(scene, 2 * SECOND - timedelta(microseconds=1))
        assert scene.over == []
        await _settled(scene, timedelta(microseconds=1))
        assert scene.over == ["soon", "as soon"]
        await _settled(scene, 20 * SECOND)
        assert scene.over == ["soon", "as soon", "late", "later"]
        service.cancel()

    asyncio.run(play())


def test_what_has_ended_takes_no_room_for_long() -> None:
    async def play() -> None:
        scene = Scene()
        scene.add(SECOND, "stays")
        for number in range(10 * _SPARE):
            scene.add(3600 * SECOND, f"n{number}")
            scene.held.discard((f"n{number}", 1))
        assert sum(len(keys) for _, _, keys in scene.deadlines._heap) <= _SPARE + 3
        service = asyncio.ensure_future(scene.serve())
        await _settled(scene, SECOND)
        assert scene.over == ["stays"]
        service.cancel()

    asyncio.run(play())


def test_a_turn_without_a_deadline_ends_when_it_is_woken() -> None:
    async def play() -> None:
        scene = Scene()
        turn = asyncio.ensure_future(scene.deadlines.turn())
        await scene.clock.settle()
        assert not turn.done()
        scene.deadlines.wake()
        async with asyncio.timeout(20):
            assert await turn == timedelta(0)

    asyncio.run(play())
