"""A wall clock that is set, or a host that has slept, buries nobody who lives."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.errors import NodeBuriedError
from foliot.model.state import Node
from foliot.stores.sqlite import SqliteStore
from foliot.stores.sqlite.lease_clock import LeaseClock
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import lose

LEASE = timedelta(seconds=30)
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def test_a_jump_ahead_is_forgiven_for_one_lease() -> None:
    async def scene() -> None:
        clock = ManualClock()
        patience, before = LeaseClock(clock, LEASE), clock.now()
        clock.set_by(HOUR)
        assert patience.now() == before
        await clock.advance(LEASE - SECOND)
        assert patience.now() == before + LEASE - SECOND
        await clock.advance(SECOND)
        assert patience.now() == clock.now() == before + HOUR + LEASE

    asyncio.run(scene())


def test_time_that_passes_is_no_jump_and_neither_is_a_jump_back() -> None:
    async def scene() -> None:
        clock = ManualClock()
        patience = LeaseClock(clock, LEASE)
        await clock.advance(HOUR)
        assert patience.now() == clock.now()
        clock.set_by(-HOUR)
        assert patience.now() == clock.now()

    asyncio.run(scene())


def test_who_lives_survives_a_jump_and_who_does_not_renew_is_buried_later(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with SqliteStore(tmp_path / "jobs.db", clock, lease=LEASE) as store:
            for node in ("lively", "silent"):
                await store.join(Node(node))
            clock.set_by(HOUR)
            await store.recover(10, clock.now(), lose)
            await store.renew("lively")
            await clock.advance(LEASE - SECOND)
            await store.recover(10, clock.now(), lose)
            await store.renew("lively")
            await clock.advance(2 * SECOND)
            await store.recover(10, clock.now(), lose)
            await store.renew("lively")
            with pytest.raises(NodeBuriedError):
                await store.renew("silent")

    asyncio.run(scene())


def test_who_has_just_opened_the_file_buries_by_proof_only(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with SqliteStore(tmp_path / "jobs.db", clock, lease=LEASE) as first:
            await first.join(Node("lively"))
            clock.set_by(HOUR)
            async with SqliteStore(tmp_path / "jobs.db", clock, lease=LEASE) as second:
                await second.join(Node("fresh"))
                await second.recover(10, clock.now(), lose)
                await first.renew("lively")

    asyncio.run(scene())
