"""The stores that keep tokens, the audit and pipelines keep the contract."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from foliot.model.access import Scope, Token
from foliot.model.audit import AuditEntry
from foliot.model.job import Action
from foliot.model.pipeline import Pipeline
from foliot.protocols import Store
from foliot.protocols_access import AuditQuery, PipelineQuery, TokenQuery
from foliot.stores.memory import MemoryStore
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract import AccessContract, AuditContract, OpenStore, PipelineContract, Sharing
from stores.postgres.opening import open_postgres
from stores.sqlite.opening import open_sqlite


class TestMemoryAccess(AccessContract, AuditContract, PipelineContract):
    @pytest.fixture
    def open_store(self, clock: ManualClock) -> OpenStore:
        store = MemoryStore(clock)

        @asynccontextmanager
        async def opened() -> AsyncIterator[Store]:
            yield store

        return opened


class TestSqliteAccess(AccessContract, AuditContract, PipelineContract):
    @pytest.fixture
    def sharing(self, tmp_path: Path) -> Sharing:
        return Sharing(open_sqlite, str(tmp_path / "jobs.db"))


class TestPostgresAccess(AccessContract, AuditContract, PipelineContract):
    @pytest.fixture
    def sharing(self, url: str) -> Sharing:
        return Sharing(open_postgres, url)


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"id": "t1"}', "not a text \N{SNOWMAN}"],
)
def test_what_cannot_be_read_is_not_there(tmp_path: Path, text: str) -> None:
    """Above all a token: it lets nobody in."""
    path, clock = tmp_path / "jobs.db", ManualClock()
    now = clock.now()
    token = Token("t1", "ci", "hash", Scope.ADMIN, now)
    pipeline = Pipeline("p1", "sales", "gold", "daily", Action(kind="k"), now, now)

    async def act() -> None:
        async with SqliteStore(path, clock) as store:
            await store.add_token(token)
            await store.write_audit(AuditEntry("e1", now, "cli:ann@host", "pause", "job:a/b"))
            await store.add_pipeline(pipeline)
            with closing(sqlite3.connect(path)) as connection, connection:
                for table in ("tokens", "audit", "pipelines"):
                    connection.execute(f"UPDATE {table} SET text = ?", (text,))  # noqa: S608 - names of ours
            assert await store.token("t1") is None
            assert (*await store.tokens(TokenQuery()), *await store.audit(AuditQuery())) == ()
            assert await store.pipeline("p1") is None
            assert tuple(await store.pipelines(PipelineQuery())) == ()

    asyncio.run(act())


def test_a_token_that_has_lost_its_limit_is_not_there(tmp_path: Path) -> None:
    path, clock = tmp_path / "jobs.db", ManualClock()
    token = Token("t1", "ci", "hash", Scope.ADMIN, clock.now(), sources=("ops",), expires_at=clock.now())

    async def act() -> None:
        async with SqliteStore(path, clock) as store:
            await store.add_token(token)
            for field in ("sources", "expires_at"):
                with closing(sqlite3.connect(path)) as connection, connection:
                    sql = "UPDATE tokens SET text = replace(text, ?, 'lost')"
                    connection.execute(sql, (field,))
                assert await store.token("t1") is None

    asyncio.run(act())
