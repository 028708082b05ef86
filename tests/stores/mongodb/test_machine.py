"""Anything in any order, on MongoDB."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import settings

from foliot.protocols import Store
from foliot.testing.clock import ManualClock
from foliot.testing.servers import shared_mongodb
from stores.machine import StoreMachine
from stores.mongodb.opening import fresh, open_mongodb

pytestmark = pytest.mark.prove


@asynccontextmanager
async def open_database(clock: ManualClock) -> AsyncIterator[Store]:
    async with open_mongodb(fresh(shared_mongodb().url), clock) as store:
        yield store


class MongoMachine(StoreMachine):
    open_store = open_database


@pytest.mark.usefixtures("url")
class TestMongoMachine(MongoMachine.TestCase):  # type: ignore[misc, valid-type]  # hypothesis makes it
    settings = settings(max_examples=20, stateful_step_count=25)
