"""The schema, as numbered steps forward; of many nodes that start at once one takes them, and others wait.

The number of a step is a thousand times the major version of the schema, plus a count: a step of the same
major version only adds what older programs can leave alone, so they go on working beside newer ones. The
steps that were taken are kept in the schema itself, each in the same transaction as its statements.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from importlib.resources import files

from foliot.errors import StoreError
from foliot.model.view import Schema
from foliot.stores.postgres.connection import READ, WRITE, Connection, begin
from foliot.stores.sqlite.migration import Step

MAJOR = 1
_MAJOR_STEP = 1000
_MAKE_STEPS = """
    CREATE TABLE IF NOT EXISTS foliot_steps (
        number bigint PRIMARY KEY, name text NOT NULL, taken_at timestamptz NOT NULL DEFAULT clock_timestamp()
    )
"""


def steps() -> list[Step]:
    """All steps, in order."""
    found = []
    for file in (files(__package__) / "migrations").iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        if file.name.endswith(".sql"):
            found.append(Step(int(number), name, file.read_text(encoding="utf-8")))
    return sorted(found)


def migrate(
    connection: Connection, schema: str, patience: timedelta, failpoint: Callable[[str], None]
) -> None:
    """Take the steps that the schema has not taken yet; StoreError if it is newer than this program."""
    if not missing_steps(connection, schema, patience):
        return
    begin(connection, WRITE, schema, patience)
    try:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock_number(schema),))
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        for step in _missing(_taken(connection, schema), schema):  # another node may have been quicker
            connection.execute(_MAKE_STEPS)
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


def missing_steps(connection: Connection, schema: str, patience: timedelta) -> list[Step]:
    """The steps that the schema has not taken yet; StoreError if it is not ours, or newer than this."""
    found = schema_in(connection, schema, patience).found
    return [step for step in steps() if step.number > found]


def schema_in(connection: Connection, schema: str, patience: timedelta) -> Schema:
    """How far a schema is; nothing is changed. StoreError if it is not ours, or newer than this program."""
    begin(connection, READ, schema, patience)
    try:
        taken = _taken(connection, schema)
        _missing(taken, schema)
        return Schema(taken or 0, steps()[-1].number)
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")


def _taken(connection: Connection, schema: str) -> int | None:
    """The last step that was taken, 0 if there is no schema; None if it belongs to somebody else."""
    tables = [
        name
        for (name,) in connection.execute(
            "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = %s", (schema,)
        )
    ]
    if "foliot_steps" not in tables:
        return None if tables else 0
    row = connection.execute("SELECT max(number) FROM foliot_steps").fetchone()
    return (row[0] if row else None) or 0


def _missing(taken: int | None, schema: str) -> list[Step]:
    if taken is None:
        raise StoreError(
            f"the schema {schema} holds the tables of another program",
            details={"schema": schema},
            hint="give Foliot a schema of its own: ?schema=NAME at the end of the store's URL",
        )
    if taken // _MAJOR_STEP > MAJOR:
        raise StoreError(
            f"the database has schema {taken}, and this version of Foliot knows {MAJOR}.x only",
            details={"found": taken, "known": MAJOR},
            hint="a newer version of Foliot has written it: use that version, or a copy from before",
        )
    return [step for step in steps() if step.number > taken]


def _lock_number(schema: str) -> int:
    digest = hashlib.sha256(f"foliot migrates {schema}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
