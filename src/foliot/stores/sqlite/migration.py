"""The schema, as numbered steps forward. A new file and an old one go the same way to the same end.

The number of a step is a thousand times the major version of the schema, plus a count: a step of the same
major version only adds what older programs can leave alone, so they go on working on a newer file. The
file knows the last step that was taken (`user_version`), in the same transaction as the step itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import NamedTuple

from foliot.errors import StoreError

APPLICATION = 0x464F_4C49  # "FOLI": whose file it is
MAJOR = 1
_MAJOR_STEP = 1000


class Step(NamedTuple):
    """One step of the schema."""

    number: int
    name: str
    script: str


def steps() -> list[Step]:
    """All steps, in order."""
    folder = files(__package__) / "migrations"
    found = []
    for file in folder.iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        if file.name.endswith(".sql"):
            found.append(Step(int(number), name, file.read_text(encoding="utf-8")))
    return sorted(found)


def migrate(connection: sqlite3.Connection, failpoint: Callable[[str], None]) -> None:
    """Take the steps that the file has not taken yet; StoreError if it is newer than this program."""
    missing = missing_steps(connection)
    if not missing:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in missing_steps(connection):  # another process may have been quicker
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
    if version // _MAJOR_STEP > MAJOR:
        raise StoreError(
            f"the file has schema {version}, and this version of Foliot knows {MAJOR}.x only",
            details={"found": version, "known": MAJOR},
            hint="a newer version of Foliot has written it: use that version, or a copy from before",
        )
    if version == 0 and has_tables:
        raise StoreError("the file is the database of another program", hint="give Foliot a file of its own")
    return [step for step in steps() if step.number > version]


@contextmanager
def _at_one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """What is read inside belongs together: another process may just be making the tables."""
    is_ours = not connection.in_transaction
    if is_ours:
        connection.execute("BEGIN")
    try:
        yield
    finally:
        if is_ours and connection.in_transaction:
            connection.execute("ROLLBACK")
