"""Shared statements, carried out by PostgreSQL: many rows travel as arrays, in one statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

import psycopg

from foliot.stores.postgres import arrays
from foliot.stores.postgres.connection import Connection
from foliot.stores.postgres.insert import columns_of, insert_of, rows_of
from foliot.stores.postgres.notice import send_notice
from foliot.stores.sql.dialect import SourceStatements
from foliot.stores.sql.rows import Row
from foliot.stores.sql.upsert import Upsert

# ruff: noqa: S608 - made of names that are constants of ours

# Each is locked before the next, so that no two calls wait for each other.
_HOLD = """
    SELECT FROM unnest(%s::bigint[]) AS v (job_no),
    LATERAL (SELECT FROM states AS s WHERE s.job_no = v.job_no FOR UPDATE) AS s
"""
_TEXTS = {"last_run"}
_ANSWERS = re.compile(r"^\s*SELECT\b|\bRETURNING\b")
# Time as the server has it, or as a test says.
NOW = "coalesce(%(present)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
_VALUE = re.compile(r"(?<!:):([a-z]+)\b")  # but no cast
_INDEX = re.compile(r"\bINDEXED BY \w+")
# Among a thousand texts, `= ANY` would walk through the whole index.
_MANY = {
    "these": "= ANY(CAST(:these AS bigint[]))",
    "texts": "IN (SELECT unnest(CAST(:texts AS text[])))",
}
_ENOUGH_TO_COPY = 100
_LENIENT = "surrogatepass"  # a program may write half a surrogate pair, and even that comes back


# A call that reconciles a source holds its row.
_SOURCES = SourceStatements(
    make=("INSERT INTO sources (source) VALUES (:source) ON CONFLICT DO NOTHING",),
    find="SELECT revision FROM sources WHERE source = :source FOR UPDATE",
    show="""
        SELECT o.source, o.revision, o.reconciled_at, o.status FROM sources AS o ORDER BY o.source
    """,
    note_revision=(
        "UPDATE sources SET revision = :revision, reconciled_at = :present WHERE source = :source",
    ),
    note_status="""
        INSERT INTO sources (source, status) VALUES (:source, :status)
        ON CONFLICT (source) DO UPDATE SET status = excluded.status
    """,
    restore="UPDATE sources SET reconciled_at = CAST(:at AS bigint) WHERE source = :source",
    forget=("DELETE FROM sources WHERE source = :source",),
)


class PostgresDialect:
    """Locks what it reads to write. `test_now` is the time, if a test replaces the server's."""

    trouble: type[Exception] = psycopg.Error
    page = 2000
    has_litter = True
    policies = Upsert("policies", "digest, text", "DO NOTHING")
    sources = _SOURCES
    node_views = """
        SELECT i.id, n.name, n.queues, n.kinds, n.version, n.skew, n.host, n.process, n.is_draining,
        n.limits, n.slots, n.lease_until, (
            SELECT count(*) FROM attempts AS a WHERE a.node_no = n.node_no AND a.state IN (1, 2)
        )
        FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no
    """

    def __init__(
        self, connection: Connection, schema: str, test_now: Callable[[], int | None] = lambda: None
    ) -> None:
        self._connection = connection
        self._schema = schema
        self._test_now = test_now

    def run(self, sql: str, **values: object) -> psycopg.Cursor[tuple[Any, ...]]:
        if ":present" in sql:
            values["present"] = self._test_now()
        return self._connection.execute(_translated(sql), values, binary=True)

    def among(
        self, sql: str, these: Collection[int] | Collection[str], **values: object
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        asked, mark = _for_many(sql)
        write: Any = arrays.numbers if mark == "these" else arrays.texts
        return self.run(asked, **{mark: write(these)}, **values)

    def run_rows(self, sql: str, columns: Mapping[str, Sequence[Any]], **values: int | None) -> list[Row]:
        if not all(columns.values()):
            return []
        asked = _about(sql, tuple(columns), tuple(values))
        given = {f"v_{name}": _array(name)(column) for name, column in columns.items()}
        cursor = self._connection.execute(asked, given | values, binary=True)
        return cursor.fetchall() if _ANSWERS.search(sql) else []  # in a pipeline only we know

    def change_rows(
        self,
        sql: str,
        finding: str,  # noqa: ARG002 - the statement tells by itself
        columns: Mapping[str, Sequence[Any]],
        **values: int | None,
    ) -> Collection[int]:
        return [number for (number,) in self.run_rows(f"{sql} RETURNING job_no", columns, **values)]

    def hold(self, jobs: Sequence[int]) -> None:
        self._connection.execute(_HOLD, (arrays.numbers(jobs),))

    def upsert(self, what: Upsert, rows: Sequence[Row]) -> None:
        if rows:
            insert_of(what).execute(self._connection, rows)

    def add(self, what: Upsert, rows: Sequence[Row]) -> None:
        is_in_pipeline = self._connection.info.pipeline_status != psycopg.pq.PipelineStatus.OFF
        if is_in_pipeline or len(rows) < _ENOUGH_TO_COPY:
            self.upsert(what, rows)
            return
        with self._connection.cursor().copy(insert_of(what).copy) as stream:
            stream.write(arrays.copy_lines(rows))

    def delete(self, table: str, key: str, rows: Sequence[Row]) -> None:
        if rows:
            self._connection.execute(_delete(table, key), columns_of(table, key.split(", "), rows))

    def set_column(self, table: str, column: str, key: str, rows: Sequence[Row]) -> None:
        if rows:
            names = [column, *key.split(", ")]
            self._connection.execute(_set(table, column, key), columns_of(table, names, rows))

    def new_numbers(self, count: int) -> Iterator[int]:
        found = self.run("SELECT nextval('job_numbers') FROM generate_series(1, :count)", count=count)
        return (number for (number,) in found.fetchall())

    def policy_row(self, text: str) -> Row:
        return sha256(text.encode()).hexdigest(), text

    def output_text(self, text: str) -> object:
        return text.encode(errors=_LENIENT)

    def read_output(self, stored: object) -> str:
        return bytes(stored).decode(errors=_LENIENT)  # type: ignore[call-overload,no-any-return]  # a column of bytes

    def send_hint(self) -> None:
        send_notice(self._connection, self._schema)


@lru_cache
def _about(sql: str, columns: tuple[str, ...], shared: tuple[str, ...]) -> str:
    """A statement with rows, which come as arrays, and some values."""
    places = ", ".join(f"%(v_{name})s::{_type(name)}[]" for name in columns)
    tables = [f"v ({', '.join(columns)}) AS (SELECT * FROM unnest({places}))"]
    if shared:
        tables.append(f"g ({', '.join(shared)}) AS (SELECT {', '.join(f'%({n})s::bigint' for n in shared)})")
    return f"WITH {', '.join(tables)} {sql}"


def _array(name: str) -> Callable[[Sequence[Any]], str]:
    return arrays.texts if name in _TEXTS else arrays.numbers


def _type(name: str) -> str:
    return "text" if name in _TEXTS else "bigint"


@lru_cache
def _translated(sql: str) -> str:
    text = _INDEX.sub("", sql.replace("%", "%%")).replace("instr(", "strpos(")
    return _VALUE.sub(r"%(\1)s", text.replace(":present", "\0")).replace("\0", NOW)


@lru_cache
def _for_many(sql: str) -> tuple[str, str]:
    mark = next(mark for mark in _MANY if f"IN :{mark}" in sql)
    return sql.replace(f"IN :{mark}", _MANY[mark]), mark


@lru_cache
def _delete(table: str, key: str) -> str:
    return f"DELETE FROM {table} AS t USING {rows_of(table, key.split(', '))} WHERE {_is(key)}"


@lru_cache
def _set(table: str, column: str, key: str) -> str:
    rows = rows_of(table, [column, *key.split(", ")])
    return f"UPDATE {table} AS t SET {column} = v.{column} FROM {rows} WHERE {_is(key)}"


def _is(key: str) -> str:
    return " AND ".join(f"t.{name} = v.{name}" for name in key.split(", "))
