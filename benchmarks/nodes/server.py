"""What is asked of the server itself: its process, what its connections wait for, and room for a race."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]

WORKING = "it works"
THINKING = "the node decides"
_WAITS = """
    SELECT CASE WHEN wait_event IS NULL THEN %s WHEN wait_event = 'ClientRead' THEN %s
        ELSE wait_event_type || ': ' || wait_event END, count(*)
    FROM pg_stat_activity
    WHERE starts_with(application_name, 'foliot ') AND state IN ('active', 'idle in transaction')
    GROUP BY 1
"""
_PROCESS = "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int"
_ENDED = "SELECT count(*) FROM attempts WHERE state = 3 AND outcome = 1"
_TIDY = ("VACUUM (ANALYZE)", "CHECKPOINT")
# As an operator would set it who expects a million runs in a minute. Commits wait for the disk as ever.
_SETTINGS = {"max_wal_size": "8GB", "checkpoint_timeout": "15min"}


class Server:
    """A PostgreSQL that is measured."""

    def __init__(self, url: str, connection: Connection) -> None:
        self.url = url
        self._connection = connection
        self.process: int = self._ask(_PROCESS)
        self.version: str = self._ask("SHOW server_version").split()[0]
        for name, value in _SETTINGS.items():
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        connection.execute("SELECT pg_reload_conf()")

    def _ask(self, sql: str) -> Any:
        row = self._connection.execute(sql.encode()).fetchone()
        return None if row is None else row[0]

    def tidy(self) -> None:
        """Do now what the server would else do in the middle of a measurement."""
        for sql in _TIDY:
            self._connection.execute(sql.encode())

    def waits(self) -> Counter[str]:
        """What each connection of a node that is in a transaction does at this moment."""
        return Counter(dict(self._connection.execute(_WAITS, (WORKING, THINKING)).fetchall()))

    @contextmanager
    def schema(self, name: str) -> Iterator[str]:
        """The URL of a schema that is gone afterwards."""
        try:
            yield f"{self.url}?schema={name}"
        finally:
            self._connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())

    def successes(self, schema: str) -> int:
        """How many runs have succeeded, as the tables have it."""
        found: int = self._ask(_ENDED.replace("attempts", f"{schema}.attempts"))
        return found


@contextmanager
def connected(url: str) -> Iterator[Server]:
    """A server, for as long as it is measured."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield Server(url, connection)
