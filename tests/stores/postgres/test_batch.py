"""What was read to be written is locked, whatever others do meanwhile."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from foliot.errors import JobNotFoundError
from foliot.protocols import Changes, JobQuery
from foliot.stores.postgres import PostgresStore
from foliot.stores.sql.batch import WriteBatch
from foliot.testing.clock import ManualClock
from foliot.testing.contract.history import KEY
from foliot.testing.contract.sample import SOURCE, a_job, change, declare_at, untouched

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
SOON = 10


def test_a_job_that_is_declared_after_the_lock_is_not_there_yet(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, declared = threading.Event(), threading.Event()
    read = WriteBatch.by_key  # between the lock and the reading there is no other place

    def read_late(self: WriteBatch, *wanted: Any) -> Any:
        if not locked.is_set():
            locked.set()
            assert declared.wait(SOON)
        return read(self, *wanted)

    async def act() -> None:
        clock = ManualClock(NOW)
        async with PostgresStore(url, time=clock) as store, PostgresStore(url, time=clock) as other:
            monkeypatch.setattr(WriteBatch, "by_key", read_late)
            update = asyncio.create_task(store.update(KEY, change(wake_at=NOW)))
            assert await asyncio.to_thread(locked.wait, SOON)
            await other.reconcile(
                SOURCE, None, "r1", Changes((a_job(),)), declared=declare_at(None, NOW), removed=untouched
            )
            declared.set()
            with pytest.raises(JobNotFoundError):
                await update
            (view,) = await store.jobs(JobQuery())
            assert view.record is not None
            assert view.record.state.wake_at is None
            await store.update(KEY, change(wake_at=NOW))

    asyncio.run(act())
