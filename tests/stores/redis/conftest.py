"""What `make test` has time for: the whole contract on Redis, its races on Valkey; `make prove` runs all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foliot.testing.contract import ClaimContract, FinishContract, LeaseContract, RecoveryContract
from foliot.testing.servers import RedisServer, redis_server, shared_redis
from real_redis import redis_url_of
from stores.redis.opening import fresh

_ON_VALKEY = {
    name
    for topic in (ClaimContract, FinishContract, LeaseContract, RecoveryContract)
    for name in vars(topic)
    if name.startswith("test_")
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "stores/redis/test_contract" not in item.nodeid:
            continue
        name = item.name.partition("[")[0]
        is_valkey = "valkey" in item.name
        if is_valkey and (name not in _ON_VALKEY or "TestAnyDamage" in item.nodeid):
            item.add_marker(pytest.mark.prove)


@pytest.fixture
def url() -> str:
    """A namespace of one's own on the Redis that all tests share."""
    return fresh(redis_url_of("redis"))


@pytest.fixture
def shared(url: str) -> RedisServer:
    """The Redis that all tests share: it may be asked, not stopped."""
    assert url
    return shared_redis("redis")


@pytest.fixture
def server(url: str) -> Iterator[RedisServer]:
    """A Redis of one's own, which may be stopped, paused and emptied."""
    assert url  # who has no Redis skips here
    with redis_server() as server:
        yield server
