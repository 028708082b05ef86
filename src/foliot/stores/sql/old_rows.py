"""Rows that are deleted when they are old: which rows, and by which index."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from foliot.stores.sql.codes import whole
from foliot.stores.sql.dialect import Dialect

# ruff: noqa: S608 - made of constants only


class OldRows(NamedTuple):
    """A table whose rows have a text as key, and a time. `only`: a condition, if not all rows count."""

    table: str
    key: str
    at: str
    found_by: str
    only: str = ""

    @property
    def find(self) -> str:
        """The keys of rows that are too old, the oldest first."""
        only = f" AND {self.only}" if self.only else ""
        return (
            f"SELECT o.{self.key} FROM {self.table} AS o INDEXED BY {self.found_by}"
            f" WHERE o.{self.at} <= :until{only} ORDER BY o.{self.at} LIMIT :most FOR UPDATE OF o SKIP LOCKED"
        )


def forget_rows(dialect: Dialect, rows: OldRows, until: datetime, limit: int) -> int:
    """Delete rows up to a time, at most `limit`. Returns how many."""
    keys = [key for (key,) in dialect.run(rows.find, until=whole(until), most=limit).fetchall()]
    if keys:
        dialect.among(f"DELETE FROM {rows.table} WHERE {rows.key} IN :texts", keys)
    return len(keys)
