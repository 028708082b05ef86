"""Rows of a table of yours as documents: what PostgreSQL and SQLite share.

Five columns are mapped: the id, and the four fields. All columns together are the data of a job. Each verb is
one statement, or one short transaction, and writes no column but the time (or `auto_remove`, if an update
names it).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from foliot.doors.documents.errors import InvalidConfigError
from foliot.doors.documents.job import LEAVE, MILLISECOND, Job, JobUpdate, Settled
from foliot.doors.documents.stores.settling import settle_guarded
from foliot.doors.documents.stores.thread import Closing
from foliot.errors import JobNotFoundError, shorten

Row = dict[str, Any]
NO_PARAMS: Sequence[Any] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The names of the columns that are ours."""

    id: str = "id"
    sleep_until: str = "sleep_until"
    interval: str = "interval"
    repeat_until: str = "repeat_until"
    auto_remove: str = "auto_remove"

    def __post_init__(self) -> None:
        names = [getattr(self, item.name) for item in fields(self)]
        for name in names:
            if not isinstance(name, str) or not name or "\0" in name:
                raise InvalidConfigError("columns", f"{shorten(name)} is no name of a column")
        if len(set(names)) < len(names):
            raise InvalidConfigError(
                "columns", f"must differ from each other: {', '.join(map(shorten, names))}"
            )


class TableStore(Closing):
    """The verbs, on the statements of a database. A subclass says how values and statements look there.

    `condition` is SQL that follows AND: only rows that match it are ours; `params` are its parameters.
    """

    mark: str = "?"  # of a parameter in a statement
    same: str = "IS"  # compares values, also nulls

    def __init__(
        self, table: str, columns: Columns | None, condition: str | None, params: Sequence[Any]
    ) -> None:
        if not table:
            raise InvalidConfigError("table", "must be the name of a table")
        self.columns = columns or Columns()
        self.condition = condition
        self.params = tuple(params)
        self.table = ".".join(map(quoted, table.split(".")))

    # -- what a database gives ---------------------------------------------------------------------

    @abstractmethod
    async def execute(self, verb: str, sql: str, params: Sequence[Any]) -> tuple[int, list[Row]]:
        """Carry out one statement; how many rows it touched, and those that it returns."""

    @abstractmethod
    async def take(self, lock_until: datetime, due_by: datetime) -> Row | None:
        """Lock the next row whose time is not after `due_by` and not in the future; the row as it was."""

    @abstractmethod
    def stored(self, value: Any) -> Any:
        """A value as the database keeps it."""

    @abstractmethod
    def time_of(self, value: Any) -> Any:
        """A time from the database, with its zone; what is no time stays as it is."""

    def comparable(self, column: str) -> str:
        """An expression by which a time is compared with one that `stored` gives."""
        return quoted(column)

    # -- the verbs ---------------------------------------------------------------------------------

    async def lock_next(self, lock_until: datetime) -> Job | None:
        # Before the lock that is written: so each lock is later than the last, whatever the clocks say.
        row = await self.take(lock_until, lock_until - MILLISECOND)
        return None if row is None else self.job(row)

    async def update(self, id: Any, updates: JobUpdate) -> None:  # noqa: A002 - the protocol's word
        changes = self._changes(updates) or {self.columns.id: id}
        count, _ = await self._update("update", changes, f"{quoted(self.columns.id)} = {self.mark}", [id])
        if not count:
            raise JobNotFoundError(str(id))

    async def remove(self, id: Any) -> None:  # noqa: A002 - the protocol's word
        sql = f"DELETE FROM {self.table} WHERE {quoted(self.columns.id)} = {self.mark}"  # noqa: S608 - quoted
        await self.execute("remove", sql, [id])

    async def renew(self, job: Job, held: datetime, until: datetime) -> bool:
        at = self.comparable(self.columns.sleep_until)
        where = f"{quoted(self.columns.id)} = {self.mark} AND {at} = {self.mark}"
        params = [job.id, self.stored(held)]
        count, _ = await self._update("renew", {self.columns.sleep_until: self.stored(until)}, where, params)
        return count > 0

    async def settle(self, job: Job, held: datetime, updates: JobUpdate | None) -> Settled:
        columns, mark = self.columns, self.mark
        lock = f"{quoted(columns.id)} = {mark} AND {self.comparable(columns.sleep_until)} = {mark}"
        own = (columns.interval, columns.repeat_until, columns.auto_remove)
        fields_too = lock + "".join(f" AND {quoted(name)} {self.same} {mark}" for name in own)

        async def end(is_strict: bool) -> bool:  # noqa: FBT001 - what `settle_guarded` calls
            where, params = lock, [job.id, self.stored(held)]
            if is_strict:
                where, params = fields_too, [*params, *(job.data.get(name) for name in own)]
            if updates is None:
                sql = f"DELETE FROM {self.table} WHERE {where}"  # noqa: S608 - quoted
                return (await self.execute("settle", sql, params))[0] > 0
            return (await self._update("settle", self._changes(updates), where, params))[0] > 0

        return await settle_guarded(job, held, updates, end=end, get=self.get)

    async def get(self, id: Any) -> Job | None:  # noqa: A002 - the protocol's word
        sql = f"SELECT * FROM {self.table} WHERE {quoted(self.columns.id)} = {self.mark}"  # noqa: S608 - quoted
        _, rows = await self.execute("get", sql, [id])
        return self.job(rows[0]) if rows else None

    async def put(self, document: Mapping[str, Any]) -> Any:
        """Add a row, or replace the one that has its id; returns the id."""
        names = list(document)
        marks = ", ".join([self.mark] * len(names))
        others = [name for name in names if name != self.columns.id]
        change = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in others)
        id_ = quoted(self.columns.id)
        sql = (
            f"INSERT INTO {self.table} ({', '.join(map(quoted, names))}) VALUES ({marks}) "  # noqa: S608 - quoted
            f"ON CONFLICT ({id_}) DO UPDATE SET {change} RETURNING {id_}"
        )
        _, rows = await self.execute("put", sql, [self.stored(value) for value in document.values()])
        return rows[0][self.columns.id]

    # -- inside ------------------------------------------------------------------------------------

    def job(self, row: Row) -> Job:
        """A row as a job."""
        columns = self.columns
        sleep_until = self.time_of(row[columns.sleep_until])
        auto_remove = row.get(columns.auto_remove)
        return Job(
            id=row[columns.id],
            sleep_until=sleep_until if isinstance(sleep_until, datetime) else None,
            interval=row.get(columns.interval),
            repeat_until=self.time_of(row.get(columns.repeat_until)),
            auto_remove=False if auto_remove is None else auto_remove,
            data=row,
        )

    def _changes(self, updates: JobUpdate) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        if updates.sleep_until is not LEAVE:
            changes[self.columns.sleep_until] = self.stored(updates.sleep_until)
        if updates.auto_remove is not LEAVE:
            changes[self.columns.auto_remove] = updates.auto_remove
        return changes

    async def _update(
        self, verb: str, changes: Mapping[str, Any], where: str, params: Sequence[Any]
    ) -> tuple[int, list[Row]]:
        sets = ", ".join(f"{quoted(name)} = {self.mark}" for name in changes)
        sql = f"UPDATE {self.table} SET {sets} WHERE {where}"  # noqa: S608 - names are quoted, values are not in it
        return await self.execute(verb, sql, [*changes.values(), *params])


def quoted(name: str) -> str:
    """A name as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
