"""Anything in any order: the stores that live in this process, under the stateful machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import settings

from foliot.protocols import Store
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from stores.machine import StoreMachine

pytestmark = pytest.mark.prove


@asynccontextmanager
async def open_memory(clock: ManualClock) -> AsyncIterator[Store]:
    yield MemoryStore(clock)


class MemoryMachine(StoreMachine):
    open_store = open_memory


TestMemoryStore = MemoryMachine.TestCase
TestMemoryStore.settings = settings(max_examples=max(200, settings().max_examples), stateful_step_count=40)
