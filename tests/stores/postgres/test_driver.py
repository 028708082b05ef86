"""What the driver logs, and whose sessions are ended: nobody is bothered who has nothing to do with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest

from foliot.clock import SystemClock
from foliot.errors import StoreUnavailableError
from foliot.model.state import Node
from foliot.stores.postgres import PostgresStore, session
from foliot.stores.postgres.address import read_address
from foliot.stores.postgres.connection import WRITE, begin, connect
from stores.postgres.opening import fresh

CLOCK = SystemClock()
A_WHILE = timedelta(milliseconds=100)


def test_a_connection_lost_in_a_call_is_said_once_by_the_call(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The driver would log the same beside it, in words of its own."""
    server, schema = read_address(url)

    async def act() -> None:
        async with PostgresStore(url, lease=8 * A_WHILE) as store:
            await store.join(Node("a"))
            with psycopg.connect(server) as other:
                other.execute(f"LOCK TABLE {schema}.nodes".encode())
                with pytest.raises(StoreUnavailableError):
                    await store.renew("a")  # the call is given up, and its connection cut

    asyncio.run(act())
    assert [record for record in caplog.records if record.name == "psycopg"] == []


def test_what_the_driver_logs_for_others_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("psycopg").warning("error ignored terminating %r: %s", "a pipeline of theirs", "lost")
    assert "a pipeline of theirs" in caplog.text


@contextmanager
def silent(server: str, name: str) -> Iterator[int]:
    """A session that has asked for something in a pipeline, and says no more; its number."""
    session = psycopg.connect(server, application_name=name, autocommit=True)
    pipeline = session.pipeline()
    pipeline.__enter__()
    try:
        session.execute("SELECT 1")
        yield session.info.backend_pid
    finally:
        session.close()


def test_the_silent_of_another_schema_are_not_ended(server_url: str) -> None:
    ours = read_address(fresh(server_url))
    theirs = read_address(fresh(server_url))
    with (
        silent(ours.server, f"foliot {ours.schema}"),
        silent(ours.server, f"foliot {theirs.schema}") as other,
        connect(ours, A_WHILE) as connection,
    ):
        CLOCK.sleep(3 * A_WHILE.total_seconds())
        begin(connection, WRITE, ours.schema, A_WHILE)
        assert connection.execute(session.END_SILENT).fetchall() == [(True,)]
        connection.execute("COMMIT")
        left = connection.execute("SELECT pid FROM pg_stat_activity WHERE state = 'active'").fetchall()
        assert (other,) in left
