"""The store on MongoDB keeps the contract, from several processes too, whatever the damage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from foliot.protocols import Store
from foliot.stores.mongodb.address import read_address
from foliot.stores.mongodb.connection import connect
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
from stores.mongodb.opening import fresh, open_mongodb

Document = dict[str, Any]
Garble = Callable[[Document], Document]


def _body(before: str, after: str) -> Garble:
    """Change the body of a job."""

    def garbled(found: Document) -> Document:
        assert before in found["b"]
        return {"b": found["b"].replace(before, after, 1)}

    return garbled


WAYS: dict[str, Garble] = {
    "a body that is no JSON": lambda found: {"b": found["b"][:-3]},
    "a body that is no text": lambda _: {"b": 7},
    "no body": lambda _: {"b": None},
    "a body of another form": lambda _: {"b": "[1,[],[],[]]"},
    "a token below zero": _body("[1,[", "[1,[-"),
    "a token that cannot grow": _body("[1,[", "[1,[9223372036854775807"),
    "no mark": lambda _: {"m": None, "b": "{"},
    "a mark that is no text": lambda _: {"m": {"of": "another"}, "b": "{"},
    "tags that are none": lambda _: {"z": "?", "b": "{"},
    "no definition": lambda _: {"d": ""},
    "a frame that is not there": lambda _: {"d": "0123456789abcdef {}"},
    "data that is none": lambda found: {"d": found["d"].split(" ", 1)[0] + " [1]"},
}


async def damage_by(way: str, url: str, _: Store, key: str) -> None:
    address = read_address(url)
    with connect(address, timedelta(seconds=30)) as client:
        jobs = client[address.database]["jobs"]
        found = jobs.find_one({"_id": key})
        assert found is not None
        jobs.update_one({"_id": key}, {"$set": WAYS[way](found)})


class TestMongoStore(
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
    def sharing(self, mongodb_url: str) -> Sharing:
        return Sharing(open_mongodb, fresh(mongodb_url))

    @pytest.fixture
    def damage(self, sharing: Sharing) -> Damage:
        return partial(damage_by, "a body that is no JSON", sharing.where)


class TestAnyDamage(DamageContract):
    @pytest.fixture
    def sharing(self, mongodb_url: str) -> Sharing:
        return Sharing(open_mongodb, fresh(mongodb_url))

    @pytest.fixture(params=WAYS)
    def damage(self, request: pytest.FixtureRequest, sharing: Sharing) -> Damage:
        return partial(damage_by, request.param, sharing.where)
