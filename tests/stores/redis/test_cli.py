"""`foliot store check | migrate` and a few questions, on Redis."""

from __future__ import annotations

import asyncio
import json

from cli.calls import call
from foliot.model.state import Node
from foliot.stores.redis import RedisStore
from foliot.stores.redis.address import read_address
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE
from foliot.testing.servers import RedisServer
from stores.redis.playing import declare


async def furnish(url: str) -> None:
    async with RedisStore(url) as store:
        await store.join(Node("a"))
        await declare(store, ManualClock(), 3)


def test_a_store_is_made_found_sound_and_found_damaged(url: str, shared: RedisServer) -> None:
    assert call("store", "check", "--store", url).code == 6, "nobody has made it"
    made = call("store", "migrate", "--store", url)
    assert (made.code, made.out) == (0, "ok: the store was created, with schema 1001\n")
    asyncio.run(furnish(url))
    sound = call("store", "check", "--store", url, "-o", "json")
    assert sound.code == 0, sound
    facts = json.loads(sound.out)
    assert facts["jobs"] == 3
    assert {"jobs", "due", "nodes"} <= facts["bytes"].keys()
    assert all(size > 0 for size in facts["bytes"].values())
    assert "bytes: " in call("store", "check", "--store", url).out
    prefix = read_address(url).prefix
    shared.ask("HSET", f"{prefix}:d", f"{SOURCE}/job-0001", "nothing of ours")
    damaged = call("store", "check", "--store", url)
    assert damaged.code == 9
    assert f"{SOURCE}/job-0001 cannot be read" in damaged.out


def test_a_job_that_no_node_would_find_is_told(url: str, shared: RedisServer) -> None:
    asyncio.run(furnish(url))
    prefix = read_address(url).prefix
    names = shared.ask("HKEYS", f"{prefix}:lanes")
    shared.ask("DEL", f"{prefix}:w:{names.split()[2].decode()}")
    found = call("store", "check", "--store", url)
    assert found.code == 9
    assert "3 job(s) wait for a time, and no node would look at them" in found.out


def test_lists_that_do_not_agree_are_told(url: str, shared: RedisServer) -> None:
    asyncio.run(furnish(url))
    prefix = read_address(url).prefix
    shared.ask("ZREM", f"{prefix}:keys", f"{SOURCE}/job-0000")
    shared.ask("HDEL", f"{prefix}:d", f"{SOURCE}/job-0002")
    found = call("store", "check", "--store", url)
    assert "3 job(s) have a state, and 2 are listed" in found.out
    assert "3 job(s) have a state, and 2 have a definition" in found.out


def test_jobs_are_listed(url: str) -> None:
    asyncio.run(furnish(url))
    shown = call("job", "list", "--store", url)
    assert shown.code == 0, shown
    assert shown.out.count(f"{SOURCE}/job-") == 3


def test_a_server_that_is_not_there_is_unreachable_and_its_password_is_not_shown() -> None:
    result = call("job", "list", "--store", "redis://u:secret@127.0.0.1:1/0")
    assert result.code == 6
    assert "secret" not in result.out + result.err
