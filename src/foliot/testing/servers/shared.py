"""One server for all processes of a test session, such as the workers of pytest-xdist.

No test stops it, and its data goes with the session. So none waits for a disk: PostgreSQL is told not to, and
the others, whose settings a store reads, keep their files in memory where there is room.
"""

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

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder that only we can enter is made there
ROOM = 2 * 2**30  # bytes: a session of our own tests leaves 0.5 GB in MongoDB and in Redis
_Server = TypeVar("_Server", PostgresServer, RedisServer, MongoServer)


@lru_cache(maxsize=1)
def shared_postgres() -> PostgresServer:
    """The server of this session: the first who asks starts it. Schemas are for tests to make."""
    place = Path(tempfile.gettempdir(), _name("pg"))
    return _shared(place, PostgresServer, lambda place: PostgresServer.create(place, waits_for_disk=False))


@lru_cache(maxsize=2)
def shared_redis(kind: str = "redis") -> RedisServer:
    """The same of Redis, or of `valkey`. Namespaces are for tests to make."""
    return _shared(in_memory(_name(kind)), RedisServer, lambda place: RedisServer.create(place, kind))


@lru_cache(maxsize=1)
def shared_mongodb() -> MongoServer:
    """The same of MongoDB: a standalone server. Databases are for tests to make."""
    return _shared(in_memory(_name("mongodb")), MongoServer, MongoServer.create)


def in_memory(name: str) -> Path:
    """A folder of this name: in memory if one is there already, or if there is room; else on the disk."""
    place = MEMORY / name
    with suppress(OSError):
        free = os.statvfs(MEMORY)
        has_room = os.access(MEMORY, os.W_OK) and free.f_bavail * free.f_frsize >= ROOM
        if has_room or place.exists():
            return place
    return Path(tempfile.gettempdir(), name)


def _name(kind: str) -> str:
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    return f"foliot-{kind}-{os.geteuid()}-{session}"


def _shared(place: Path, use: Callable[[Path], _Server], create: Callable[[Path], _Server]) -> _Server:
    with Path(f"{place}.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(OSError):
            if server_number(place) is not None:
                return _until_the_end(use(place))
        place.mkdir(mode=0o700)
        try:
            return _until_the_end(create(place))
        except OSError as error:
            raise MissingServerError(f"no server can be started in {place}: {error}") from error


def _until_the_end(server: _Server) -> _Server:
    atexit.register(server.release)
    return server
