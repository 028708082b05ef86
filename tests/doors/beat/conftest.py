from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from doors.beat.scene import Place, Recorder
from foliot.testing.servers import RedisServer, redis_server
from real_redis import redis_url_of


@pytest.fixture
def place() -> Iterator[Place]:
    """A prefix of one's own on the Redis that all tests share."""
    place = Place(redis_url_of("redis"), f"b.{uuid4().hex}")
    yield place
    place.client.close()


@pytest.fixture
def queue() -> Recorder:
    return Recorder()


@pytest.fixture
def server(place: Place) -> Iterator[RedisServer]:
    """A Redis of one's own, which may be stopped and emptied."""
    assert place.url  # who has no Redis skips here
    with redis_server() as server:
        yield server
