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

_TEXTS = {"request", "run_key"}
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
