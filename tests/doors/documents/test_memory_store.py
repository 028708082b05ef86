"""The store in memory passes the contract, and so does a store of a stranger with three verbs."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from foliot.clock import SystemClock
from foliot.doors.documents import LEAVE, Job, JobNotFoundError, JobUpdate, MemoryStore
from foliot.testing.documents import FencedStoreContract, JobStoreContract

_MEMORY: dict[str, MemoryStore] = defaultdict(MemoryStore)
_LISTS: dict[str, list[dict[str, Any]]] = defaultdict(list)


@asynccontextmanager
async def open_memory(where: str) -> AsyncIterator[MemoryStore]:
    yield _MEMORY[where]


@pytest.mark.req("DOC-12")
class TestMemoryStore(JobStoreContract, FencedStoreContract):
    open_store = staticmethod(open_memory)

    @pytest.fixture
    def where(self) -> str:
        return uuid.uuid4().hex


class ListStore:
    """What a user might write: three verbs, over a list of dictionaries, and nothing that Foliot has."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    async def lock_next(self, lock_until: datetime) -> Job | None:
        now = SystemClock().now()
        due = [row for row in self.rows if row["at"] is not None and row["at"] <= now]
        if not due:
            return None
        row = min(due, key=lambda row: datetime.astimezone(row["at"], UTC))
        job = self.job(row)
        row["at"] = lock_until
        return job

    async def update(self, id: Any, updates: JobUpdate) -> None:  # noqa: A002 - the protocol's word
        row = self.row(id)
        if row is None:
            raise JobNotFoundError(id)
        if updates.sleep_until is not LEAVE:
            row["at"] = updates.sleep_until
        if updates.auto_remove is not LEAVE:
            row["once"] = updates.auto_remove

    async def remove(self, id: Any) -> None:  # noqa: A002 - the protocol's word
        self.rows[:] = [row for row in self.rows if row["key"] != id]

    def row(self, key: str) -> dict[str, Any] | None:
        return next((row for row in self.rows if row["key"] == key), None)

    def job(self, row: dict[str, Any]) -> Job:
        return Job(
            id=row["key"], sleep_until=row["at"], interval=row["cron"], repeat_until=row["end"],
            auto_remove=row["once"], data=row["data"],
        )  # fmt: skip


@asynccontextmanager
async def open_list(where: str) -> AsyncIterator[ListStore]:
    yield ListStore(_LISTS[where])


@pytest.mark.req("DOC-03")
class TestAStoreOfAStranger(JobStoreContract):
    open_store = staticmethod(open_list)

    @pytest.fixture
    def where(self) -> str:
        return uuid.uuid4().hex

    async def add(self, store: ListStore, document: Any) -> str:
        data = dict(document)
        key = uuid.uuid4().hex
        row = {
            "key": key, "at": data.pop("sleepUntil"), "cron": data.pop("interval", None),
            "end": data.pop("repeatUntil", None), "once": data.pop("autoRemove", False), "data": data,
        }  # fmt: skip
        store.rows.append(row)
        return key

    async def find(self, store: ListStore, id_: Any) -> Job | None:
        row = store.row(id_)
        return None if row is None else store.job(row)
