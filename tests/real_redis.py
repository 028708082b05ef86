"""A real Redis and a real Valkey for tests. Who has none skips, with the reason; in CI that is a failure."""

from __future__ import annotations

import pytest

from foliot.testing.servers import MissingServerError, shared_redis
from real_postgres import do_without


@pytest.fixture(scope="session", params=["redis", "valkey"])
def redis_url(request: pytest.FixtureRequest) -> str:
    """The servers that all tests share: those who ask for it run on each of them."""
    return redis_url_of(request.param)


def redis_url_of(kind: str) -> str:
    """The server of a kind that all tests of a session share; a test makes a namespace of its own there."""
    try:
        return shared_redis(kind).url
    except MissingServerError as error:
        do_without(error)
