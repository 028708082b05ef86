"""Shared statements, carried out by PostgreSQL: many rows travel as arrays, in one statement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import psycopg

from foliot.stores.postgres import arrays
from foliot.stores.postgres.connection import Connection
from foliot.stores.sql.rows import Row

# ruff: noqa: S608 - made of names that are constants of ours

_TEXTS = {"request", "run_key", "last_run"}
# Each is locked before the next, so that no two calls wait for each other.
_HOLD = """
    SELECT FROM unnest(%s::bigint[]) AS v (job_no),
    LATERAL (SELECT FROM states AS s WHERE s.job_no = v.job_no FOR UPDATE) AS s
"""
_VALUE = re.compile(r"(?<!:):([a-z]+)\b")  # but no cast


class PostgresDialect:
    """Locks what it reads to write; what others have locked is left to them."""

    lock = "FOR UPDATE OF s SKIP LOCKED"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def using(self, index: str) -> str:  # noqa: ARG002 - the server finds it by the same condition
        return ""

    def run(self, sql: str, **values: object) -> psycopg.Cursor[tuple[Any, ...]]:
        return self._connection.execute(_translated(sql), values, binary=True)

    def hold(self, jobs: Sequence[int]) -> None:
        self._connection.execute(_HOLD, (arrays.numbers(jobs),))

    def run_rows(self, sql: str, columns: str, rows: Sequence[Row], **values: int | None) -> list[Row]:
        if not rows:
            return []
        names = columns.split(", ")
        given = {f"v{place}": made for place, made in enumerate(_columns(names, rows))}
        cursor = self._connection.execute(_about(sql, columns, tuple(values)), given | values, binary=True)
        return cursor.fetchall() if cursor.description else []

    def select_among(self, sql: str, these: Iterable[int], **values: object) -> list[Row]:
        asked = sql.replace(":these", "(SELECT unnest(CAST(:these AS bigint[])))")
        return self.run(asked, these=arrays.numbers(these), **values).fetchall()

    def delete(self, table: str, key: str, rows: Sequence[Row]) -> None:
        if rows:
            self._connection.execute(_delete(table, key), _columns(key.split(", "), rows))

    def set_column(self, table: str, column: str, key: str, rows: Sequence[Row]) -> None:
        if rows:
            names = [column, *key.split(", ")]
            self._connection.execute(_set(table, column, key), _columns(names, rows))


def _columns(names: Sequence[str], rows: Sequence[Row]) -> list[str]:
    columns = zip(*rows, strict=True)
    return [
        (arrays.texts if name in _TEXTS else arrays.numbers)(column)
        for name, column in zip(names, columns, strict=True)
    ]


@lru_cache
def _about(sql: str, columns: str, shared: tuple[str, ...]) -> str:
    """A statement with rows, which come as arrays, and some values."""
    names = columns.split(", ")
    places = ", ".join(f"%(v{n})s::{_type(name)}[]" for n, name in enumerate(names))
    tables = [f"v ({columns}) AS (SELECT * FROM unnest({places}))"]
    if shared:
        tables.append(f"g ({', '.join(shared)}) AS (SELECT {', '.join(f'%({n})s::bigint' for n in shared)})")
    return f"WITH {', '.join(tables)} {sql}"


def _type(name: str) -> str:
    return "text" if name in _TEXTS else "bigint"


@lru_cache
def _translated(sql: str) -> str:
    return _VALUE.sub(r"%(\1)s", sql.replace("%", "%%"))


@lru_cache
def _delete(table: str, key: str) -> str:
    return f"DELETE FROM {table} AS t USING {_rows(key.split(', '))} WHERE {_is(key)}"


@lru_cache
def _set(table: str, column: str, key: str) -> str:
    rows = _rows([column, *key.split(", ")])
    return f"UPDATE {table} AS t SET {column} = v.{column} FROM {rows} WHERE {_is(key)}"


def _rows(names: Sequence[str]) -> str:
    places = ", ".join(f"%s::{'text' if name in _TEXTS else 'bigint'}[]" for name in names)
    return f"unnest({places}) AS v ({', '.join(names)})"


def _is(key: str) -> str:
    return " AND ".join(f"t.{name} = v.{name}" for name in key.split(", "))
