"""A server on each store. It is made once for each file of tests: what a test needs, it declares itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from api.stage import Stage, staged
from real_redis import redis_url_of
from stores.mongodb.opening import fresh as fresh_mongodb
from stores.postgres.opening import fresh
from stores.redis.opening import fresh as fresh_namespace

SERVERS = [pytest.param(name, marks=pytest.mark.prove) for name in ("postgres", "redis", "mongodb")]


@pytest.fixture(scope="module", params=["memory", "sqlite", *SERVERS])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("api")
    url: str | None = None
    if request.param == "sqlite":
        url = f"sqlite:///{folder}/jobs.db"
    elif request.param == "postgres":
        url = fresh(request.getfixturevalue("server_url"))
    elif request.param == "redis":
        url = fresh_namespace(redis_url_of("redis"))
    elif request.param == "mongodb":
        url = fresh_mongodb(request.getfixturevalue("mongodb_url"))
    with staged(url, folder) as stage:
        yield stage


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A server on a store in memory, for one test alone."""
    with staged(None, tmp_path_factory.mktemp("api")) as stage:
        yield stage
