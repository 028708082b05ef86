"""`foliot store check | migrate` and a few questions, on MongoDB."""

from __future__ import annotations

import asyncio
import json

import pytest

from cli.calls import call
from foliot.model.state import Node
from foliot.stores.mongodb import MongoStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE
from stores.mongodb.playing import declare, inside


async def furnish(url: str) -> None:
    async with MongoStore(url) as store:
        await store.join(Node("a"))
        await declare(store, ManualClock(), 3)


def test_a_store_is_made_found_sound_and_found_damaged(url: str) -> None:
    assert call("store", "check", "--store", url).code == 6, "nobody has made it"
    made = call("store", "migrate", "--store", url)
    assert (made.code, made.out) == (0, "ok: the store was created, with schema 1\n")
    asyncio.run(furnish(url))
    sound = call("store", "check", "--store", url, "-o", "json")
    assert sound.code == 0, sound
    assert json.loads(sound.out)["jobs"] == 3
    with inside(url) as jobs:
        jobs.update_one({"_id": f"{SOURCE}/job-0001"}, {"$set": {"d": "nothing of ours"}})
    damaged = call("store", "check", "--store", url)
    assert damaged.code == 9
    assert f"{SOURCE}/job-0001 cannot be read" in damaged.out
    shown = call("job", "list", "--store", url)
    assert shown.code == 0, shown
    assert shown.out.count(f"{SOURCE}/job-") == 3


def test_a_job_that_no_node_would_find_is_told(url: str) -> None:
    asyncio.run(furnish(url))
    with inside(url) as jobs:
        jobs.update_one({"_id": f"{SOURCE}/job-0001"}, {"$unset": {"w": ""}})
        jobs.update_one({"_id": f"{SOURCE}/job-0002"}, {"$set": {"c": [{"i": "@x#1", "n": "b"}]}})
        jobs.drop_index("z__id")
    found = call("store", "check", "--store", url)
    assert found.code == 9
    assert "1 job(s) have a wake or a lane that differs from their record" in found.out
    assert "1 job(s) are held by other nodes than their records say" in found.out
    assert "the index z__id of jobs is missing" in found.out


@pytest.mark.prove  # the driver waits for 5 s: another server may be elected
def test_a_server_that_is_not_there_is_unreachable_and_its_password_is_not_shown() -> None:
    result = call("job", "list", "--store", "mongodb://u:secret@127.0.0.1:1/jobs")
    assert result.code == 6
    assert "secret" not in result.out + result.err
