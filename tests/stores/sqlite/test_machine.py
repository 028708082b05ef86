"""Anything in any order, on a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from foliot.protocols import Store
from foliot.testing.clock import ManualClock
from stores.machine import StoreMachine
from stores.sqlite.opening import open_sqlite

pytestmark = pytest.mark.prove


@asynccontextmanager
async def open_file(clock: ManualClock) -> AsyncIterator[Store]:
    with TemporaryDirectory() as folder:
        async with open_sqlite(str(Path(folder, "jobs.db")), clock) as store:
            yield store


class SqliteMachine(StoreMachine):
    open_store = open_file


TestSqliteStore = SqliteMachine.TestCase
TestSqliteStore.settings = settings(max_examples=max(200, settings().max_examples), stateful_step_count=25)
