"""Anything in any order, on Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import settings

from foliot.protocols import Store
from foliot.testing.clock import ManualClock
from foliot.testing.servers import shared_redis
from stores.machine import StoreMachine
from stores.redis.opening import fresh, open_redis

pytestmark = pytest.mark.prove


@asynccontextmanager
async def open_namespace(clock: ManualClock) -> AsyncIterator[Store]:
    async with open_redis(fresh(shared_redis("redis").url), clock) as store:
        yield store


class RedisMachine(StoreMachine):
    open_store = open_namespace


@pytest.mark.usefixtures("url")
class TestRedisMachine(RedisMachine.TestCase):  # type: ignore[misc, valid-type]  # hypothesis makes it
    settings = settings(max_examples=40, stateful_step_count=25)
