"""Shared statements, carried out by SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache

from foliot.stores.sql.rows import Row

_MOST_AT_ONCE = 500  # numbers in one question


class SqliteDialect:
    """One writes at a time, so nothing need be locked."""

    lock = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def using(self, index: str) -> str:
        return f"INDEXED BY {index}"

    def run(self, sql: str, **values: object) -> sqlite3.Cursor:
        return self._connection.execute(sql, values)

    def select_among(self, sql: str, these: Iterable[int], **values: object) -> list[Row]:
        wanted, found = list(these), []
        for start in range(0, len(wanted), _MOST_AT_ONCE):
            numbers = ", ".join(map(str, wanted[start : start + _MOST_AT_ONCE]))
            found += self._connection.execute(sql.replace(":these", f"({numbers})"), values).fetchall()
        return found

    def delete(self, table: str, key: str, rows: Sequence[Row]) -> None:
        self._connection.executemany(_delete(table, key), rows)

    def set_column(self, table: str, column: str, key: str, rows: Sequence[Row]) -> None:
        self._connection.executemany(_set(table, column, key), rows)


# ruff: noqa: S608 - made of names that are constants of ours


@lru_cache
def _delete(table: str, key: str) -> str:
    return f"DELETE FROM {table} WHERE {_is(key)}"


@lru_cache
def _set(table: str, column: str, key: str) -> str:
    return f"UPDATE {table} SET {column} = ? WHERE {_is(key)}"


def _is(key: str) -> str:
    return " AND ".join(f"{name} = ?" for name in key.split(", "))
