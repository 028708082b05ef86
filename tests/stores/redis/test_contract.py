"""The store on Redis, and on Valkey, keeps the contract, from several processes too, whatever the damage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from foliot.protocols import Store
from foliot.stores.redis.address import Address, read_address
from foliot.stores.redis.wire import Wire
from foliot.testing.contract import (
    AccessContract,
    AlertContract,
    AuditContract,
    Damage,
    DamageContract,
    NodeContract,
    OutputContract,
    PipelineContract,
    Sharing,
    SourceContract,
    StoreContract,
)
from stores.redis.opening import fresh, open_redis

Garble = Callable[[bytes], bytes]


def _body(before: bytes, after: bytes) -> Garble:
    """Change the body of a job's text; what scripts read stays."""

    def garbled(text: bytes) -> bytes:
        assert before in text
        return text.replace(before, after, 1)

    return garbled


WAYS: dict[str, tuple[str, Garble]] = {
    "no text of ours": ("s", lambda _: b"{"),
    "nothing": ("s", lambda _: b""),
    "a body that is no JSON": ("s", lambda text: text[:-3]),
    "a body of another form": ("s", lambda text: text.split(b"[", 1)[0] + b"[1,[],[],[]]"),
    "a token below zero": ("s", _body(b"[1,[", b"[1,[-")),
    "a token that cannot grow": ("s", _body(b"[1,[", b"[1,[9223372036854775807")),
    "no definition": ("d", lambda _: b""),
    "a frame that is not there": ("d", lambda _: b"0123456789abcdef {}"),
    "data that is none": ("d", lambda text: text.split(b" ", 1)[0] + b" [1]"),
}


async def damage_by(way: str, url: str, _: Store, key: str) -> None:
    name, garble = WAYS[way]
    address: Address = read_address(url)
    wire = Wire(address, timedelta(seconds=30))
    found = wire.ask("HGET", f"{address.prefix}:{name}", key)
    wire.ask("HSET", f"{address.prefix}:{name}", key, garble(found))
    wire.close()


class TestRedisStore(
    StoreContract,
    OutputContract,
    NodeContract,
    SourceContract,
    AlertContract,
    AccessContract,
    AuditContract,
    PipelineContract,
):
    @pytest.fixture
    def sharing(self, redis_url: str) -> Sharing:
        return Sharing(open_redis, fresh(redis_url))

    @pytest.fixture
    def damage(self, sharing: Sharing) -> Damage:
        return partial(damage_by, "a body that is no JSON", sharing.where)


@pytest.mark.prove
class TestAnyDamage(DamageContract):
    @pytest.fixture
    def sharing(self, redis_url: str) -> Sharing:
        return Sharing(open_redis, fresh(redis_url))

    @pytest.fixture(params=WAYS)
    def damage(self, request: pytest.FixtureRequest, sharing: Sharing) -> Damage:
        return partial(damage_by, request.param, sharing.where)
