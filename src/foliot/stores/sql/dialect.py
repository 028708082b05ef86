"""The interface to one database: it carries out SQL that SQLite and PostgreSQL share.

A shared statement uses words of both databases. Each dialect translates or drops words that its database
lacks:

    :name               a value
    :present            the present time of the store, in microseconds: that of a server, or of a clock
    IN :these           many numbers, given to `among`; IN :texts: many texts
    INDEXED BY name     the index to use. SQLite is told; PostgreSQL finds it by the same condition
    FOR UPDATE, ...     which rows are locked. PostgreSQL does it; on SQLite one call writes at a time
    CROSS JOIN          SQLite joins in the order that is written; to PostgreSQL it is any join
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from foliot.stores.sql.rows import Row
from foliot.stores.sql.upsert import Upsert


class Answer(Protocol):
    """The rows of a query. A server may still compute them until they are fetched."""

    def fetchone(self) -> Row | None:
        """The next row."""
        ...

    def fetchall(self) -> list[Row]:
        """All rows."""
        ...


class SourceStatements(NamedTuple):
    """The statements about sources of a database.

    `find` selects and locks the revision of a source; `make` inserts the row before, so that it can be
    locked.
    """

    make: tuple[str, ...]
    find: str
    show: str
    note_revision: tuple[str, ...]
    note_status: str
    restore: str
    forget: tuple[str, ...]


class Dialect(Protocol):
    """Carries out statements in the transaction of a call, and knows where tables differ.

    `trouble`: the driver's exceptions. `page`: how many jobs of a revision are decided together.
    `has_litter`: claimed rows slow the next claim down for a while. `policies`: how the texts
    of policies are stored. `node_views`: the statement that selects nodes for display.
    """

    trouble: type[Exception]
    page: int
    has_litter: bool
    policies: Upsert
    node_views: str
    sources: SourceStatements

    def run(self, sql: str, **values: object) -> Answer:
        """Carry out one statement."""
        ...

    def among(self, sql: str, these: Collection[int] | Collection[str], **values: object) -> Answer:
        """Carry out a statement about many numbers or texts: `IN :these`, or `IN :texts`."""
        ...

    def run_rows(self, sql: str, columns: Mapping[str, Sequence[Any]], **values: int | None) -> list[Row]:
        """Carry out a statement about many rows: its table `v` has these columns. `g` has a row of values.

        Its answers come in any order.
        """
        ...

    def change_rows(
        self, sql: str, finding: str, columns: Mapping[str, Sequence[Any]], **values: int | None
    ) -> Collection[int]:
        """Change rows, at most one for each job. Returns the numbers of the jobs whose row has changed.

        `finding`: the statement that selects those numbers before the change.
        """
        ...

    def hold(self, jobs: Sequence[int]) -> None:
        """Lock the states of these jobs, in their order, until the end of this call."""
        ...

    def upsert(self, what: Upsert, rows: Sequence[Row]) -> None:
        """Insert rows, or update them if their keys exist. Of several rows with one key the last counts."""
        ...

    def add(self, what: Upsert, rows: Sequence[Row]) -> None:
        """Insert rows that are new, in the quickest way."""
        ...

    def delete(self, table: str, key: str, rows: Sequence[Row]) -> None:
        """Delete the rows of these keys; `key` names the columns."""
        ...

    def set_column(self, table: str, column: str, key: str, rows: Sequence[Row]) -> None:
        """Write one column of many rows; each row is the value, and the key."""
        ...

    def new_numbers(self, count: int) -> Iterator[int]:
        """New numbers for jobs; a number is never reused."""
        ...

    def policy_row(self, text: str) -> Row:
        """The columns of `policies` for a text; the first is the key."""
        ...

    def output_text(self, text: str) -> object:
        """The stored form of an output, which may contain invalid text."""
        ...

    def read_output(self, stored: object) -> str:
        """An output as it was written."""
        ...

    def send_hint(self) -> None:
        """Send a hint to other nodes after the commit: look at the store now."""
        ...
