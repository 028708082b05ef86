"""One server for all processes of a test session, such as the workers of pytest-xdist."""

from __future__ import annotations

import atexit
import fcntl
import os
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from foliot.testing.servers.guardian import server_number
from foliot.testing.servers.postgres import MissingServerError, PostgresServer


@lru_cache(maxsize=1)
def shared_postgres() -> PostgresServer:
    """The server of this session: the first who asks starts it. Schemas are for tests to make."""
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    place = Path(tempfile.gettempdir(), f"foliot-pg-{os.geteuid()}-{session}")
    with Path(f"{place}.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(OSError):
            if server_number(place) is not None:
                return _until_the_end(PostgresServer(place))
        place.mkdir(mode=0o700)
        try:
            return _until_the_end(PostgresServer.create(place))
        except OSError as error:
            raise MissingServerError(f"PostgreSQL cannot be started: {error}") from error


def _until_the_end(server: PostgresServer) -> PostgresServer:
    atexit.register(server.release)
    return server
