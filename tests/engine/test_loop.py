"""The loop that all services of a node share: a store that is back is found soon."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise

from foliot.engine.loop import run_until_stopped
from foliot.errors import StoreUnavailableError
from foliot.testing.clock import ManualClock


def test_a_store_that_was_away_for_long_is_asked_again_within_a_second() -> None:
    async def act() -> None:
        clock, stopping, asked = ManualClock(), asyncio.Event(), list[float]()

        async def turn() -> timedelta:
            asked.append(clock.monotonic())
            raise StoreUnavailableError("claim", "away")

        loop = asyncio.ensure_future(run_until_stopped(turn, stopping, clock, lambda _: None))
        await clock.advance(timedelta(minutes=1))
        stopping.set()
        await clock.advance(timedelta(seconds=1))
        await loop
        pauses = [later - earlier for earlier, later in pairwise(asked)]
        assert pauses[0] < 0.2, "the first time it may have been nothing"
        assert max(pauses) <= 1

    asyncio.run(act())
