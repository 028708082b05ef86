"""The schema, as numbered steps forward. If many nodes start at once, one migrates and the others wait.

`foliot.stores.sql.migration` explains the numbers. The schema stores each step, in the same transaction as
its statements.

Every transaction of a store first reads some of the steps, and so holds a shared lock on their table. A step
to a newer major version needs that table exclusively: it waits for open transactions, and later transactions
see the newer version and refuse to work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta

from foliot.errors import StoreError
from foliot.model.view import Schema
from foliot.stores.postgres.connection import READ, WRITE, Connection, begin
from foliot.stores.sql.migration import Step, major_of, read_steps
from foliot.stores.sql.migration import refuse_newer as refuse_newer_than

MAJOR = 1
_MAKE_STEPS = """
    CREATE TABLE IF NOT EXISTS foliot_steps (
        number bigint PRIMARY KEY, name text NOT NULL, taken_at timestamptz NOT NULL DEFAULT clock_timestamp()
    )
"""


def steps() -> tuple[Step, ...]:
    """All steps, in order."""
    return read_steps(__package__)


def migrate(
    connection: Connection, schema: str, deadline: timedelta, failpoint: Callable[[str], None]
) -> None:
    """Take the steps that the schema has not taken yet; StoreError if it is newer than this program."""
    if not missing_steps(connection, schema, deadline):
        return
    begin(connection, WRITE, schema, deadline)
    try:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number("migrates", schema),))
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        taken = _taken(connection, schema)  # another node may have migrated meanwhile
        connection.execute(_MAKE_STEPS)
        for step in _missing(taken, schema):
            if taken and major_of(step.number) > major_of(taken):
                connection.execute("LOCK TABLE foliot_steps IN ACCESS EXCLUSIVE MODE")
            connection.execute(step.script.encode())
            connection.execute(
                "INSERT INTO foliot_steps (number, name) VALUES (%s, %s)", (step.number, step.name)
            )
        failpoint("migrate:before_commit")
        connection.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            connection.execute("ROLLBACK")
        raise
    failpoint("migrate:after_commit")


def missing_steps(connection: Connection, schema: str, deadline: timedelta) -> list[Step]:
    """The steps that the schema has not taken yet; StoreError if it is not ours, or newer than this."""
    found = schema_in(connection, schema, deadline).found
    return [step for step in steps() if step.number > found]


def schema_in(connection: Connection, schema: str, deadline: timedelta) -> Schema:
    """How far a schema is; nothing is changed. StoreError if it is not ours, or newer than this program."""
    begin(connection, READ, schema, deadline)
    try:
        taken = _taken(connection, schema)
        _missing(taken, schema)
        return Schema(taken or 0, steps()[-1].number)
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")


def _taken(connection: Connection, schema: str) -> int | None:
    """The last step that was taken; 0 if there is no schema; None if the schema is not ours."""
    tables = [
        name
        for (name,) in connection.execute(
            "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = %s", (schema,)
        )
    ]
    if "foliot_steps" not in tables:
        return None if tables else 0
    row = connection.execute(f'SELECT max(number) FROM "{schema}".foliot_steps').fetchone()  # noqa: S608 - a name that was checked
    return (row[0] if row else None) or 0


def telling_steps(schema: str) -> str:
    """The steps that show whether this program may work: the first of its major version, and all newer ones.

    Reading these costs 12 microseconds in each transaction; reading the last step would cost 60.
    """
    return f'"{schema}".foliot_steps WHERE number = {MAJOR}001 OR number > {MAJOR}999'


def _missing(taken: int | None, schema: str) -> list[Step]:
    if taken is None:
        raise StoreError(
            f"the schema {schema} holds the tables of another program",
            details={"schema": schema},
            hint="give Foliot a schema of its own: ?schema=NAME at the end of the store's URL",
        )
    refuse_newer(taken)
    return [step for step in steps() if step.number > taken]


def refuse_newer(taken: int) -> None:
    """StoreError if a schema is of a newer major version than this program knows."""
    refuse_newer_than(taken, MAJOR)


def lock_number(*words: str) -> int:
    """The number of an advisory lock."""
    digest = hashlib.sha256(f"foliot {' '.join(words)}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
