"""Shared statements, carried out by SQLite."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from foliot.model.json_text import clean_text
from foliot.protocols import Clock
from foliot.stores.sql.codes import whole
from foliot.stores.sql.dialect import SourceStatements
from foliot.stores.sql.rows import Row
from foliot.stores.sql.upsert import Upsert
from foliot.stores.sqlite.insert import insert_of

# ruff: noqa: S608 - made of names that are constants of ours

_LOCKS = re.compile(r"\bFOR (NO KEY UPDATE|UPDATE|KEY SHARE)( OF \w+)?( SKIP LOCKED)?")
_MANY = re.compile(r":(these|texts)\b")
_VALUE = re.compile(r":([a-z]+)\b")
_SIZES = (1, 8, 64, 400)  # of the lists that statements are compiled for
_PORTIONS = (500, 100, 20, 5, 1)  # rows of one statement


class _Rows(list[Row]):
    """Rows that were fetched."""

    def fetchone(self) -> Row | None:
        return self[0] if self else None

    def fetchall(self) -> list[Row]:
        return self


# A source is in `sources` since its first revision; what else is known of it is in `source_notes`.
_SOURCES = SourceStatements(
    make=(),
    find="""
        SELECT s.revision
        FROM (
            SELECT source FROM sources WHERE source = :source
            UNION SELECT source FROM source_notes WHERE source = :source
        ) AS known LEFT JOIN sources AS s ON s.source = known.source
    """,
    show="""
        SELECT names.source, s.revision,
        CASE WHEN n.revision = s.revision THEN n.reconciled_at END, n.status
        FROM (SELECT source FROM sources UNION SELECT source FROM source_notes) AS names
        LEFT JOIN sources AS s ON s.source = names.source
        LEFT JOIN source_notes AS n ON n.source = names.source
        ORDER BY names.source
    """,
    note_revision=(
        "INSERT OR REPLACE INTO sources (source, revision) VALUES (:source, :revision)",
        """
        INSERT INTO source_notes (source, revision, reconciled_at) VALUES (:source, :revision, :present)
        ON CONFLICT (source)
        DO UPDATE SET revision = excluded.revision, reconciled_at = excluded.reconciled_at
        """,
    ),
    note_status="""
        INSERT INTO source_notes (source, status) VALUES (:source, :status)
        ON CONFLICT (source) DO UPDATE SET status = excluded.status
    """,
    restore="UPDATE source_notes SET reconciled_at = :at WHERE source = :source",
    forget=(
        "DELETE FROM sources WHERE source = :source",
        "DELETE FROM source_notes WHERE source = :source",
    ),
)


class SqliteDialect:
    """One call writes at a time, so nothing need be locked."""

    trouble: type[Exception] = sqlite3.Error
    page = 400
    has_litter = False
    policies = Upsert("policies", "text", "DO NOTHING")
    sources = _SOURCES
    node_views = """
        SELECT i.id, n.name, n.queues, n.kinds, n.version, o.skew, o.host, o.process, o.is_draining,
        o.limits, o.slots, n.lease_until, (
            SELECT count(*) FROM attempts AS a INDEXED BY attempts_held
            WHERE a.node_no = n.node_no AND a.state IN (1, 2)
        )
        FROM nodes AS n JOIN node_names AS i ON i.node_no = n.node_no
        LEFT JOIN node_notes AS o ON o.node_no = n.node_no
    """

    def __init__(self, connection: sqlite3.Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    def run(self, sql: str, **values: object) -> sqlite3.Cursor:
        if ":present" in sql:
            values["present"] = whole(self._clock.now())
        return self._connection.execute(_translated(sql), values)

    def among(self, sql: str, these: Collection[int] | Collection[str], **values: object) -> _Rows:
        wanted: list[object] = list(these)
        found = _Rows()
        for start in range(0, len(wanted), _SIZES[-1]):
            chunk = wanted[start : start + _SIZES[-1]]
            size = next(size for size in _SIZES if size >= len(chunk))
            chunk += chunk[-1:] * (size - len(chunk))  # one value again and again changes nothing
            text, before, after = _for_many(sql, size)
            bound = [*(values[name] for name in before), *chunk, *(values[name] for name in after)]
            found += self._connection.execute(text, bound)
        return found

    def run_rows(self, sql: str, columns: Mapping[str, Sequence[Any]], **values: int | None) -> list[Row]:
        found: list[Row] = []
        names, lists = tuple(columns), tuple(columns.values())
        start, count = 0, len(lists[0])
        while start < count:
            size = next(size for size in _PORTIONS if size <= count - start)
            rows = zip(*(values_of[start : start + size] for values_of in lists), strict=True)
            bound = [*chain.from_iterable(rows), *values.values()]
            found += self._connection.execute(_about(sql, names, size, tuple(values)), bound)
            start += size
        return found

    def change_rows(
        self, sql: str, finding: str, columns: Mapping[str, Sequence[Any]], **values: int | None
    ) -> Collection[int]:
        """As a rule all of them are changed. To count is quicker than to tell which, even if SQLite can."""
        numbers, before = columns["job_no"], self._connection.total_changes
        self._connection.execute("SAVEPOINT change")
        self.run_rows(sql, columns, **values)
        if self._connection.total_changes - before != len(numbers):
            self._connection.execute("ROLLBACK TO change")
            numbers = [number for (number,) in self.run_rows(finding, columns, **values)]
            self.run_rows(sql, columns, **values)
        self._connection.execute("RELEASE change")
        return numbers

    def hold(self, jobs: Sequence[int]) -> None:
        """One call writes at a time."""

    def upsert(self, what: Upsert, rows: Sequence[Row]) -> None:
        if rows:
            insert_of(what).execute(self._connection, rows)

    add = upsert

    def delete(self, table: str, key: str, rows: Sequence[Row]) -> None:
        self._connection.executemany(_delete(table, key), rows)

    def set_column(self, table: str, column: str, key: str, rows: Sequence[Row]) -> None:
        self._connection.executemany(_set(table, column, key), rows)

    def new_numbers(self, count: int) -> Iterator[int]:
        if not count:
            return iter(())
        (last,) = self._connection.execute("SELECT value FROM counters WHERE name = 'job'").fetchone()
        self._connection.execute("UPDATE counters SET value = ? WHERE name = 'job'", (last + count,))
        return iter(range(last + 1, last + count + 1))

    def policy_row(self, text: str) -> Row:
        return (text,)

    def output_text(self, text: str) -> object:
        return clean_text(text)

    def read_output(self, stored: object) -> str:
        return str(stored)

    def send_hint(self) -> None:
        """Nodes on the same file see by themselves what was written: see `SqliteStore.changed`."""


@lru_cache
def _translated(sql: str) -> str:
    return _LOCKS.sub("", sql)


@lru_cache
def _for_many(sql: str, count: int) -> tuple[str, list[str], list[str]]:
    """The statement with placeholders for `count` values, and the names of the values before and after them.

    By places, not by names: to find a name SQLite looks through all of them.
    """
    before, _, after = _MANY.split(_translated(sql))
    text = f"{before}({', '.join('?' * count)}){after}"
    return _VALUE.sub("?", text), _VALUE.findall(before), _VALUE.findall(after)


@lru_cache
def _about(sql: str, columns: tuple[str, ...], count: int, names: tuple[str, ...]) -> str:
    """A statement with placeholders for `count` rows, and some values."""
    row = f"({', '.join('?' * len(columns))})"
    tables = [f"v ({', '.join(columns)}) AS (VALUES {', '.join([row] * count)})"]
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
