"""Anything in any order, on a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import settings

from foliot.protocols import Store
from foliot.testing.clock import ManualClock
from foliot.testing.servers import shared_postgres
from stores.machine import StoreMachine
from stores.postgres.opening import fresh, open_postgres

pytestmark = pytest.mark.prove


@asynccontextmanager
async def open_schema(clock: ManualClock) -> AsyncIterator[Store]:
    async with open_postgres(fresh(shared_postgres().url), clock) as store:
        yield store


class PostgresMachine(StoreMachine):
    open_store = open_schema


@pytest.mark.usefixtures("server_url")
class TestPostgresStore(PostgresMachine.TestCase):  # type: ignore[misc, valid-type]  # hypothesis makes it
    settings = settings(max_examples=40, stateful_step_count=25)
