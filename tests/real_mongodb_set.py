"""Replica sets for tests: what is done to their members, and fixtures that skip where there is no server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from foliot.testing.servers import MissingServerError, MongoServer, MongoSet, mongodb_set
from real_postgres import do_without


@contextmanager
def a_set(size: int) -> Iterator[MongoSet]:
    """A replica set; a test leaves its members at work. Who has no server skips."""
    try:
        with mongodb_set(size) as found:
            yield found
    except MissingServerError as error:
        do_without(error)


def others_of(found: MongoSet, primary: MongoServer) -> list[MongoServer]:
    """The other members."""
    return [one for one in found.members if one is not primary]


@contextmanager
def frozen(*members: MongoServer) -> Iterator[None]:
    """Members hang for as long as the block lasts."""
    for member in members:
        member.pause()
    try:
        yield
    finally:
        for member in members:
            member.resume()


def step_down(found: MongoSet) -> None:
    """The primary becomes a secondary; the connection may be cut by that. Returns when there is another."""
    client: MongoClient[dict[str, Any]] = MongoClient(found.primary().url)
    with client, suppress(PyMongoError):
        client.admin.command("replSetStepDown", 5, force=True)
    found.primary()


def kill_primary(found: MongoSet) -> MongoServer:
    """The primary is killed, and another is elected; the one that was killed is down."""
    killed = found.primary()
    killed.stop(immediate=True)
    found.primary()
    return killed
