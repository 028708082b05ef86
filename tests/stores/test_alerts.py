"""The stores that keep alerts keep the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from foliot.protocols import Store
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract import AlertContract, OpenStore, Sharing
from stores.sqlite.opening import open_sqlite


class TestMemoryOutbox(AlertContract):
    @pytest.fixture
    def open_store(self, clock: ManualClock) -> OpenStore:
        store = MemoryStore(clock)

        @asynccontextmanager
        async def opened() -> AsyncIterator[Store]:
            yield store

        return opened


class TestSqliteOutbox(AlertContract):
    @pytest.fixture
    def sharing(self, tmp_path: Path) -> Sharing:
        return Sharing(open_sqlite, str(tmp_path / "jobs.db"))
