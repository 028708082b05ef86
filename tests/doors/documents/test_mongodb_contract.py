"""The store on MongoDB passes the contract, with async and with sync collections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient

from foliot.doors.documents import MongoStore
from foliot.testing.documents import FencedStoreContract, JobStoreContract, SharedStoreContract
from real_mongodb import fresh_database


@asynccontextmanager
async def open_async(where: str) -> AsyncIterator[MongoStore]:
    url, _, name = where.rpartition(" ")
    async with AsyncMongoClient[Any](url) as client:
        yield MongoStore(client[name].jobs)


@asynccontextmanager
async def open_sync(where: str) -> AsyncIterator[MongoStore]:
    url, _, name = where.rpartition(" ")
    with MongoClient[Any](url) as client:
        yield MongoStore(lambda: client[name].jobs, token_field="foliot.token")  # noqa: S106 - no password


@pytest.mark.req("DOC-04", "DOC-12")
class TestMongoStore(JobStoreContract, SharedStoreContract, FencedStoreContract):
    open_store = staticmethod(open_async)

    @pytest.fixture
    def where(self, mongodb_url: str) -> str:
        return f"{mongodb_url} {fresh_database()}"


class TestMongoStoreInThreads(JobStoreContract, FencedStoreContract):
    open_store = staticmethod(open_sync)

    @pytest.fixture
    def where(self, mongodb_url: str) -> str:
        return f"{mongodb_url} {fresh_database()}"
