"""The schema, as numbered steps forward. New and old files take the same steps to the same schema.

`foliot.stores.sql.migration` explains the numbers. The file stores its last step (`user_version`), in the
same transaction as the step. Every transaction of a store checks it first, so a newer major version stops
older programs that still run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from foliot.errors import StoreError
from foliot.stores.sql.migration import Step, read_steps, refuse_newer

APPLICATION = 0x464F_4C49  # "FOLI": marks a file as ours
MAJOR = 1


def steps() -> tuple[Step, ...]:
    """All steps, in order."""
    return read_steps(__package__)


def migrate(connection: sqlite3.Connection, failpoint: Callable[[str], None]) -> None:
    """Take the steps that the file has not taken yet; StoreError if it is newer than this program."""
    missing = missing_steps(connection)
    if not missing:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in missing_steps(connection):  # another process may have migrated meanwhile
            for statement in statements(step.script):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {step.number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        failpoint("migrate:before_commit")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    failpoint("migrate:after_commit")


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: `executescript` would commit in between."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement.strip()
            statement = ""


def missing_steps(connection: sqlite3.Connection) -> list[Step]:
    """The steps that the file has not taken yet; StoreError if it is not ours, or newer than this program."""
    with _at_one_moment(connection):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        has_tables = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    if application not in (0, APPLICATION) or (version and not application):
        raise StoreError(
            "the file is the database of another program",
            details={"application_id": application, "user_version": version},
            hint="give Foliot a file of its own",
        )
    refuse_newer(version, MAJOR)
    if version == 0 and has_tables:
        raise StoreError("the file is the database of another program", hint="give Foliot a file of its own")
    return [step for step in steps() if step.number > version]


def check_schema(connection: sqlite3.Connection) -> None:
    """Raise StoreError if another program has migrated the file to a newer major version."""
    refuse_newer(connection.execute("PRAGMA user_version").fetchone()[0], MAJOR)


@contextmanager
def _at_one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """A read transaction, because another process may be creating the tables now."""
    is_ours = not connection.in_transaction
    if is_ours:
        connection.execute("BEGIN")
    try:
        yield
    finally:
        if is_ours and connection.in_transaction:
            connection.execute("ROLLBACK")
