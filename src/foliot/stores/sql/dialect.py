"""How the statements that stores share reach a database: the only difference between two dialects of SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from foliot.stores.sql.rows import Row


class Answer(Protocol):
    """The rows of a question. A server may still be at work on them until they are fetched."""

    def fetchall(self) -> list[Row]:
        """All rows."""
        ...


class Dialect(Protocol):
    """Carries out statements in the transaction of a call. `:name` marks a value in a statement.

    `lock` is what a select ends with, so that no other call writes to the states that it finds.
    """

    lock: str

    def using(self, index: str) -> str:
        """What follows a table's name, so that this index is used."""
        ...

    def run(self, sql: str, **values: object) -> Answer:
        """Carry out one statement."""
        ...

    def hold(self, jobs: Sequence[int]) -> None:
        """Let no other call write to the states of these jobs until this one is over; they are in order."""
        ...

    def run_rows(self, sql: str, columns: str, rows: Sequence[Row], **values: int | None) -> list[Row]:
        """Carry out a statement about many rows: they are its table `v`. The one row of `g` has the values.

        Its answers come in any order.
        """
        ...

    def select_among(self, sql: str, these: Iterable[int], **values: object) -> list[Row]:
        """Ask about many numbers; `IN :these` marks them in the statement."""
        ...

    def delete(self, table: str, key: str, rows: Sequence[Row]) -> None:
        """Delete the rows of these keys; `key` names the columns."""
        ...

    def set_column(self, table: str, column: str, key: str, rows: Sequence[Row]) -> None:
        """Write one column of many rows; each row is the value, and the key."""
        ...
