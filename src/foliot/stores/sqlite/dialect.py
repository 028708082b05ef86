"""Shared statements, carried out by SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

from foliot.stores.sql.rows import Row

_MOST_AT_ONCE = 500  # numbers in one question
_SIZES = (500, 100, 20, 5, 1)  # rows of one statement: few sizes, so that few statements are compiled


class SqliteDialect:
    """One writes at a time, so nothing need be locked."""

    lock = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def using(self, index: str) -> str:
        return f"INDEXED BY {index}"

    def run(self, sql: str, **values: object) -> sqlite3.Cursor:
        return self._connection.execute(sql, values)

    def hold(self, jobs: Sequence[int]) -> None:
        """One writes at a time."""

    def run_rows(self, sql: str, columns: str, rows: Sequence[Row], **values: int | None) -> list[Row]:
        found: list[Row] = []
        start = 0
        while start < len(rows):
            size = next(size for size in _SIZES if size <= len(rows) - start)
            bound = [*chain.from_iterable(rows[start : start + size]), *values.values()]
            found += self._connection.execute(_about(sql, columns, size, tuple(values)), bound).fetchall()
            start += size
        return found

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
def _about(sql: str, columns: str, count: int, names: tuple[str, ...]) -> str:
    """A statement with so many rows, and some values."""
    row = f"({', '.join('?' * len(columns.split(', ')))})"
    tables = [f"v ({columns}) AS (VALUES {', '.join([row] * count)})"]
    if names:
        tables.append(f"g ({', '.join(names)}) AS (VALUES ({', '.join('?' * len(names))}))")
    return f"WITH {', '.join(tables)} {sql}"


@lru_cache
def _delete(table: str, key: str) -> str:
    return f"DELETE FROM {table} WHERE {_is(key)}"


@lru_cache
def _set(table: str, column: str, key: str) -> str:
    return f"UPDATE {table} SET {column} = ? WHERE {_is(key)}"


def _is(key: str) -> str:
    return " AND ".join(f"{name} = ?" for name in key.split(", "))
