"""The history of one job is found, whatever order it was written and pruned in."""

from __future__ import annotations

import asyncio

from hypothesis import HealthCheck, example, given, settings

from foliot.model.attempt import Attempt
from foliot.model.policy import Keep
from foliot.stores.postgres import PostgresStore
from stores.histories import CAME_AGAIN, CLOCK, check, keeps, steps
from stores.postgres.opening import fresh


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keep=keeps, steps=steps)
@example(keep=Keep(last=None, days=1), steps=CAME_AGAIN)
def test_the_chain_has_all_that_is_stored(
    server_url: str, keep: Keep, steps: list[list[Attempt] | int]
) -> None:
    async def act() -> None:
        async with PostgresStore(fresh(server_url), time=CLOCK) as store:
            await check(store, keep, steps)

    asyncio.run(act())
