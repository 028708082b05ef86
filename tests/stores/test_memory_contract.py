"""The store in memory keeps the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from foliot.model.damage import damage_of
from foliot.protocols import Store
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract import Damage, OpenStore, OutputContract, StoreContract


async def set_aside(store: Store, key: str) -> None:
    cast("MemoryStore", store).set_aside(key, damage_of(ValueError("it was damaged on purpose")))


class TestMemoryStore(StoreContract, OutputContract):
    @pytest.fixture
    def open_store(self, clock: ManualClock) -> OpenStore:
        store = MemoryStore(clock)

        @asynccontextmanager
        async def opened() -> AsyncIterator[Store]:
            yield store

        return opened

    @pytest.fixture
    def damage(self) -> Damage:
        return set_aside
