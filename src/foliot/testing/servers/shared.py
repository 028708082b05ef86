"""One server for all processes of a test session, such as the workers of pytest-xdist."""

from __future__ import annotations

import atexit
import fcntl
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from foliot.testing.servers.guardian import server_number
from foliot.testing.servers.mongodb import MongoServer
from foliot.testing.servers.postgres import PostgresServer
from foliot.testing.servers.process import MissingServerError
from foliot.testing.servers.redis import RedisServer

_Server = TypeVar("_Server", PostgresServer, RedisServer, MongoServer)


@lru_cache(maxsize=1)
def shared_postgres() -> PostgresServer:
    """The server of this session: the first who asks starts it. Schemas are for tests to make.

    It does not wait for the disk: no test stops it, and its data goes with the session.
    """
    return _shared("pg", PostgresServer, lambda place: PostgresServer.create(place, waits_for_disk=False))


@lru_cache(maxsize=2)
def shared_redis(kind: str = "redis") -> RedisServer:
    """The same of Redis, or of `valkey`. Namespaces are for tests to make."""
    return _shared(kind, RedisServer, lambda place: RedisServer.create(place, kind))


@lru_cache(maxsize=1)
def shared_mongodb() -> MongoServer:
    """The same of MongoDB: a standalone server. Databases are for tests to make."""
    return _shared("mongodb", MongoServer, MongoServer.create)


def _shared(name: str, use: Callable[[Path], _Server], create: Callable[[Path], _Server]) -> _Server:
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    place = Path(tempfile.gettempdir(), f"foliot-{name}-{os.geteuid()}-{session}")
    with Path(f"{place}.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(OSError):
            if server_number(place) is not None:
                return _until_the_end(use(place))
        place.mkdir(mode=0o700)
        try:
            return _until_the_end(create(place))
        except OSError as error:
            raise MissingServerError(f"{name} cannot be started: {error}") from error


def _until_the_end(server: _Server) -> _Server:
    atexit.register(server.release)
    return server
