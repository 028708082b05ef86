"""R8: the disk of the PostgreSQL server is full. Nothing confirmed is lost, and it heals by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from faults.small_disk import fill, mounted
from faults.stage import staged
from foliot.testing.servers import MissingServerError, PostgresServer
from foliot.testing.servers.guardian import end_server
from real_postgres import do_without

HEALED_WITHIN = 5.0


@pytest.fixture
def disk() -> Iterator[Path]:
    """Room for a fresh server, and some more; not below `tmp_path`: the server's user may not go there."""
    with TemporaryDirectory(prefix="foliot-disk-") as place:
        Path(place).chmod(0o755)
        with mounted(Path(place, "disk"), 96) as disk:
            yield disk


@pytest.fixture
def server(disk: Path) -> Iterator[PostgresServer]:
    folder = disk / "server"
    folder.mkdir()
    try:
        server = PostgresServer.create(folder)
    except MissingServerError as error:
        do_without(error)
    yield server
    end_server(folder)
    server.release()


@pytest.mark.parametrize("place", ["its tables", "its log"])
def test_a_server_without_space_stops_claims_and_heals(
    server: PostgresServer, disk: Path, tmp_path: Path, place: str
) -> None:
    async def act() -> None:
        async with staged(server.url, tmp_path, {}, {}) as stage:
            await stage.start()
            await stage.until(lambda: len(stage.notes("finish")) > 5, 20)
            troubles = len(stage.notes("trouble"))
            fill(disk)
            if place == "its log":
                break_the_log(server)
            # Files of the server that shrink leave room, which is taken as well.
            await stage.until(lambda: bool(fill(disk)) and len(stage.notes("trouble")) > troubles + 2, 30)
            starts = len(stage.notes("start"))
            (disk / "rubbish").unlink()
            if place == "its log":
                assert "PANIC" in server.log()
                server.restart(immediate=True)  # as its supervisor does
            await stage.until(lambda: len(stage.notes("start")) > starts, HEALED_WITHIN)
            await stage.wait(4)
            await stage.stop()
            report, _ = await stage.judge()
            assert report.is_clean, f"{report}\n{stage.log[-2000:]}\n{server.log()}"

    asyncio.run(act())


def break_the_log(server: PostgresServer) -> None:
    """The server needs a new file for its log, cannot have it, and ends itself, as in a crash."""
    with suppress(psycopg.OperationalError), psycopg.connect(server.url, autocommit=True) as connection:
        for _ in range(20):
            # A line of the log alone: a table would need room of its own, and fail in peace.
            connection.execute("SELECT pg_logical_emit_message(true, 'foliot', 'a line')")
            connection.execute("SELECT pg_switch_wal()")
        pytest.fail("the log found room")
