"""Many rows in one statement of PostgreSQL: columns travel as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from foliot.stores.postgres import arrays
from foliot.stores.postgres.connection import Connection
from foliot.stores.sql.rows import Row
from foliot.stores.sql.upsert import Upsert

# ruff: noqa: S608 - made of constants only

_TEXTS = {
    "answer", "channel", "data", "digest", "error", "frame", "group_name", "id", "job", "key", "kind",
    "last_problem", "last_run", "paused_reason", "payload", "queue", "reason", "replaced_by", "request",
    "run_key", "text", "watch",
}  # fmt: skip
_BYTES = {("outputs", "text"), ("output_parts", "text")}


def kind_of(table: str, column: str) -> tuple[str, Callable[[Iterable[Any]], str]]:
    """The type of a column, and how its values are written."""
    if (table, column) in _BYTES:
        return "bytea", arrays.some_bytes
    return ("text", arrays.texts) if column in _TEXTS else ("bigint", arrays.numbers)


def rows_of(table: str, names: Sequence[str]) -> str:
    """What selects rows that travel as arrays."""
    places = ", ".join(f"%s::{kind_of(table, name)[0]}[]" for name in names)
    return f"unnest({places}) AS v ({', '.join(names)})"


def columns_of(table: str, names: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """The arrays of rows."""
    columns = zip(*rows, strict=True)
    return [kind_of(table, name)[1](column) for name, column in zip(names, columns, strict=True)]


class Insert:
    """Rows to be inserted or, where the key is there, to be changed; all of them in one statement.

    An insert that finds its row is how rows are changed, too: it goes by the key whatever the planner
    believes.
    """

    def __init__(self, what: Upsert) -> None:
        names = what.columns.split(", ")
        self._makers = [kind_of(what.table, name)[1] for name in names]
        self._key = what.key
        self._job = names.index("job_no") if "job_no" in names else None
        values = ", ".join(f"v.{name}" for name in names)
        tail = f" ON CONFLICT {what.on_conflict}" if what.on_conflict else ""
        rows = rows_of(what.table, names)
        self.sql = f"INSERT INTO {what.table} ({what.columns}) SELECT {values} FROM {rows}{tail}"
        self.copy = f"COPY {what.table} ({what.columns}) FROM STDIN"

    def execute(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Write the rows; of several for the same key the last counts, and each takes effect."""
        for wave in self._waves(rows):
            columns = zip(*wave, strict=True)
            values = [make(column) for make, column in zip(self._makers, columns, strict=True)]
            connection.execute(self.sql, values)

    def _waves(self, rows: Sequence[Row]) -> Iterable[Sequence[Row]]:
        """A statement must not touch a row twice. Rows of as many jobs as there are rows never do."""
        key, job = self._key, self._job
        if key is None or (job is not None and len({row[job] for row in rows}) == len(rows)):
            return [rows]
        waves: list[list[Row]] = []
        counts: dict[Row, int] = {}
        for row in rows:
            place = counts[row[key]] = counts.get(row[key], -1) + 1
            if place == len(waves):
                waves.append([])
            waves[place].append(row)
        return waves


insert_of = lru_cache(Insert)
