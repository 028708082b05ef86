"""The store on SQLAlchemy that stands in the how-to passes the contract: word for word as it stands there."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Column, Engine, Integer, MetaData, String, Table, create_engine, select
from sqlalchemy.pool import NullPool

from foliot.doors.documents import Job
from foliot.testing.documents import JobStoreContract, SharedStoreContract

_PAGE = Path(__file__).parents[3] / "docs/how-to/documents-in-a-table.md"
_LONGEST = 45  # lines: DOC-03, so little that users can write their own
_NAMES = {
    "_id": "id", "sleepUntil": "sleep_until", "repeatUntil": "repeat_until", "autoRemove": "auto_remove",
}  # fmt: skip


def _snippet() -> str:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", _PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    (found,) = [block for block in blocks if "class SqlAlchemyStore" in block]
    return str(found)


shown: dict[str, Any] = {"__name__": "shown"}
exec(compile(_snippet(), str(_PAGE), "exec"), shown)  # noqa: S102 - our own page


def _table(name: str) -> Table:
    time = shown["Utc"]
    return Table(
        name, MetaData(), Column("id", Integer, primary_key=True), Column("sleep_until", time, index=True),
        Column("interval", String), Column("repeat_until", time),
        Column("auto_remove", Boolean, default=False), Column("note", String), Column("size", Integer),
    )  # fmt: skip


def _engine(url: str) -> Engine:
    return create_engine(url, poolclass=NullPool)  # threads and processes leave no connection behind


@asynccontextmanager
async def open_sqlalchemy(where: str) -> AsyncIterator[Any]:
    url, _, table = where.rpartition(" ")
    yield shown["SqlAlchemyStore"](_engine(url), _table(table))


class SqlAlchemyContract(JobStoreContract, SharedStoreContract):
    open_store = staticmethod(open_sqlalchemy)

    async def add(self, store: Any, document: Mapping[str, Any]) -> Any:
        row = {_NAMES.get(name, name): value for name, value in document.items()}
        with store.engine.begin() as connection:
            return connection.execute(store.table.insert().values(row)).inserted_primary_key[0]

    async def find(self, store: Any, id_: Any) -> Job | None:
        with store.engine.begin() as connection:
            row = connection.execute(select(store.table).filter_by(id=id_)).mappings().first()
        return None if row is None else Job(**{name: row[name] for name in _FIELDS}, data=dict(row))


_FIELDS = ("id", "sleep_until", "interval", "repeat_until", "auto_remove")


@pytest.mark.req("DOC-03", "DOC-12")
class TestOnSqlite(SqlAlchemyContract):
    @pytest.fixture
    def where(self, tmp_path: Path) -> str:
        return _made(f"sqlite:///{tmp_path / 'jobs.db'}", "jobs")


@pytest.mark.prove
@pytest.mark.req("DOC-03", "DOC-12")
class TestOnPostgres(SqlAlchemyContract):
    @pytest.fixture
    def where(self, server_url: str) -> str:
        return _made(server_url.replace("postgresql://", "postgresql+psycopg://"), f"jobs_{uuid.uuid4().hex}")


def _made(url: str, table: str) -> str:
    engine = _engine(url)
    _table(table).metadata.create_all(engine)
    return f"{url} {table}"


def test_the_store_is_short() -> None:
    assert len([line for line in _snippet().splitlines() if line.strip()]) <= _LONGEST
