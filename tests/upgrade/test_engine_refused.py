"""A store that will never work with this version again ends the engine, and what it runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.stage import LEASE, MINUTE, SECOND, Stage, job
from foliot.errors import StoreError
from foliot.model.state import Lease
from foliot.stores.sql.migration import refuse_newer


class Migrated:
    """A store that somebody has taken to a newer major version while it was in use."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.version = 1001

    def __getattr__(self, verb: str) -> Any:
        refuse_newer(self.version, 1)
        return getattr(self._store, verb)

    async def renew(self, node: str) -> Lease:
        refuse_newer(self.version, 1)
        lease: Lease = await self._store.renew(node)
        return lease


def test_an_engine_whose_store_was_migrated_ends_what_it_runs_and_says_why() -> None:
    async def act() -> None:
        stage = Stage()
        stage.takes = 10 * MINUTE
        store = Migrated(stage.store)
        await stage.declare(job())
        await stage.start(store=store)
        await stage.clock.advance(MINUTE + SECOND)
        [(engine, life)] = stage._lives
        assert len(stage.starts) == 1

        store.version = 2001
        await stage.clock.advance(LEASE)
        assert engine._runner.count == 0, "what ran was asked to end, and has ended"
        with pytest.raises(StoreError, match=r"schema 2001, and this version of Foliot knows 1\.x only"):
            await life

    asyncio.run(act())
