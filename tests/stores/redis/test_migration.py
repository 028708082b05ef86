"""Steps of the schema are walks: nodes go on meanwhile, and one that dies is followed by another."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.calls import call
from foliot.engine.planner import plan_ended
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import JobQuery
from foliot.stores.redis import RedisStore, migration, regression, schema_of
from foliot.stores.redis.address import read_address
from foliot.stores.redis.wire import Wire
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import HOUR, MINUTE, SOURCE, start_due
from stores.redis.playing import declare, play

TESTS = Path(__file__).parents[2]
JOBS = 700  # three parts
ROOM = {"default": 1000}


@pytest.fixture
def wire(url: str) -> Iterator[Wire]:
    wire = Wire(read_address(url), MINUTE)
    yield wire
    wire.close()


def look(wire: Wire, url: str) -> tuple[dict[bytes, bytes], dict[str, str]]:
    """The texts of jobs without their marks, and what the store says of itself."""
    prefix = read_address(url).prefix
    texts = wire.ask("HGETALL", f"{prefix}:s")
    bodies = {key: text.split(b" ", 1)[1] for key, text in zip(texts[::2], texts[1::2], strict=True)}
    meta = [word.decode() for word in wire.ask("HGETALL", f"{prefix}:meta")]
    return bodies, dict(zip(meta[::2], meta[1::2], strict=True))


def age(wire: Wire, url: str) -> None:
    """Let the store be one of before the first step: its texts say the same in other words."""
    prefix = read_address(url).prefix
    wire.ask("HDEL", f"{prefix}:meta", "step")
    texts = wire.ask("HGETALL", f"{prefix}:s")
    for key, text in zip(texts[::2], texts[1::2], strict=True):
        *head, body = text.decode().split(" ", 3)
        wire.ask("HSET", f"{prefix}:s", key, " ".join([*head, json.dumps(json.loads(body))]))


def make(url: str) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await declare(store, clock, JOBS)

    play(url, act)


def test_a_new_store_has_taken_all_steps(url: str, wire: Wire) -> None:
    make(url)
    assert len(migration.STEPS) == regression.STEPS_OF_NEW
    assert look(wire, url)[1]["step"] == str(len(migration.STEPS))
    assert schema_of(url) == (1001, 1001)


def test_a_walk_that_is_killed_is_taken_up_where_it_stood(url: str, wire: Wire) -> None:
    make(url)
    expected, _ = look(wire, url)
    age(wire, url)
    assert schema_of(url) == (1000, 1001)
    for point, number, after in [
        ("migrate.commit:before", 1, None),  # nothing is written
        ("migrate.put:before", 2, f"{SOURCE}/job-0249"),  # of its second part all is written, and not told
        ("migrate.commit:after", 1, f"{SOURCE}/job-0499"),
    ]:
        command = [sys.executable, "-m", "stores.redis.walking", url, point, str(number)]
        died = subprocess.run(command, cwd=TESTS, check=False)  # noqa: S603 - our own program
        assert died.returncode == -signal.SIGKILL
        walk = look(wire, url)[1].get("walk")
        assert walk == (None if after is None else f"0 keys {after}")
    told = call("store", "check", "--store", url)
    assert "the schema is 1000, and the newest is 1001: foliot store migrate" in told.out
    done = call("store", "migrate", "--store", url)
    assert (done.code, done.out) == (0, "ok: the schema went from 1000 to 1001\n")
    found, meta = look(wire, url)
    assert found == expected
    assert (meta["step"], "walk" in meta) == ("1", False)
    assert call("store", "migrate", "--store", url).out == "ok: the schema is 1001, the newest already\n"


def test_nodes_work_while_a_store_is_migrated_and_do_it_by_themselves(url: str, wire: Wire) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        await declare(store, clock, JOBS)
        age(wire, url)
        await store.join(Node("a"))
        await clock.advance(MINUTE)
        claimed = await store.claim("a", clock.now(), ROOM, start_due, "c")
        assert len(claimed.runs) == JOBS
        turns = 0
        while (await store.prune(clock.now(), 100)).more:
            turns += 1
        assert turns > JOBS // 250
        ends = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in claimed.runs]
        finished = await store.finish("a", ends, clock.now(), plan_ended)
        assert (finished.refused, len(finished.events)) == ((), JOBS)
        assert all(view.problem is None for view in await store.jobs(JobQuery(limit=JOBS)))

    play(url, act, lease=HOUR)
    assert schema_of(url) == (1001, 1001)


def test_two_walk_at_once(url: str, wire: Wire) -> None:
    make(url)
    expected, _ = look(wire, url)
    age(wire, url)

    async def both() -> Any:
        async with RedisStore(url) as one, RedisStore(url) as other:
            await asyncio.gather(one.migrate(), other.migrate())

    asyncio.run(both())
    assert look(wire, url)[0] == expected
    assert schema_of(url) == (1001, 1001)
