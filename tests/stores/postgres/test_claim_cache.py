"""What a store remembers of its claims."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from foliot.errors import StoreUnavailableError
from foliot.stores.postgres import PostgresStore
from foliot.testing.contract.sample import end_and_count, ending_of, start_due
from stores.test_sharing import CLOCK, claim_one


def test_a_claim_that_was_undone_is_not_remembered(url: str) -> None:
    async def act() -> None:
        points: list[str] = []

        def fail_once(name: str) -> None:
            if name == "claim:before_commit" and not points:
                points.append(name)
                raise psycopg.OperationalError("the connection is lost")

        async with PostgresStore(url, time=CLOCK, failpoint=fail_once) as store:
            with pytest.raises(StoreUnavailableError):
                await claim_one(store)
            assert await store.held("a") == ()
            claimed = await store.claim("a", CLOCK.now(), {"default": 1}, start_due, "again")
            ((_, attempt),) = claimed.runs
            ending = ending_of(attempt, CLOCK.now())
            assert not (await store.finish("a", [ending], CLOCK.now(), end_and_count)).refused

    asyncio.run(act())
