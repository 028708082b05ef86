"""A Redis that has lost what it had answered: real nodes notice and tell it, and no run starts a second time.

The tail of its file is cut, a replica without the last second takes over, all of it is flushed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from faults.stage import Stage, staged
from foliot.testing.servers import RedisServer, redis_server
from foliot_proof.faults.proxy import Proxy
from real_redis import redis_url_of

SOON = 30  # seconds, on a machine that is busy


@pytest.fixture(autouse=True)
def server() -> None:
    """Who has no server skips."""
    redis_url_of("redis")


def starts(stage: Stage) -> int:
    return len(stage.notes("start"))


async def at_work(stage: Stage, more: int = 12) -> None:
    """Wait until so many more runs have started."""
    before = starts(stage)
    await stage.until(lambda: starts(stage) > before + more, SOON)


def told(stage: Stage) -> int:
    """How often a node has said that the store has gone back in time."""
    return stage.log.count("store_regressed")


async def all_have_told(stage: Stage) -> None:
    """Wait until each node has said it: a node does so after its next heartbeat."""
    await stage.until(lambda: told(stage) >= len(stage.hosts), SOON)


def assert_no_run_started_twice(stage: Stage) -> None:
    seen = Counter((note.facts["run"], note.facts["number"]) for note in stage.notes("start"))
    twice = [name for name, count in seen.items() if count > 1]
    assert twice == [], f"{twice[:3]}\n{stage.log[-2000:]}"


async def assert_all_is_explained(stage: Stage) -> None:
    """What was lost is there again: the checker misses nothing, and each confirmed ending is kept."""
    report, _ = await stage.judge()
    assert report.is_clean, f"{report}\n{stage.log[-2000:]}"


def test_a_server_that_lost_the_tail_of_its_file_is_told_what_it_forgot(tmp_path: Path) -> None:
    async def act(server: RedisServer) -> None:
        async with staged(server.url, tmp_path, {}, {}) as stage:
            await stage.start()
            await at_work(stage, 20)
            before = server.file_size
            await at_work(stage)
            server.stop(immediate=True)
            assert server.file_size > before, "there is something to lose"
            server.cut_tail(server.file_size - before)
            server.start()
            await at_work(stage, 20)
            await all_have_told(stage)
            await stage.wait(2)
            await stage.stop()
            assert told(stage) == len(stage.hosts), "each node has told it, once"
            assert_no_run_started_twice(stage)
            await assert_all_is_explained(stage)

    with redis_server() as server:
        asyncio.run(act(server))


@asynccontextmanager
async def proxy_to(server: RedisServer) -> AsyncIterator[tuple[Proxy, str]]:
    """A way to a server that can lead to another one later, as a name in DNS does; and its URL."""
    proxy = Proxy("127.0.0.1", server.port)
    await proxy.open()
    parts = urlsplit(server.url)
    account = parts.netloc.rpartition("@")[0]
    try:
        yield proxy, parts._replace(netloc=f"{account}@127.0.0.1:{proxy.port}").geturl()
    finally:
        await proxy.close()


def test_a_replica_without_the_last_second_is_told_what_it_never_had(tmp_path: Path) -> None:
    async def act(master: RedisServer, replica: RedisServer) -> None:
        async with proxy_to(master) as (proxy, url), staged(url, tmp_path, {}, {}) as stage:
            await stage.start()
            await at_work(stage, 20)
            replica.promote()
            await at_work(stage)
            master.stop(immediate=True)
            proxy.lead_to("127.0.0.1", replica.port)
            await at_work(stage, 20)
            await all_have_told(stage)
            await stage.wait(2)
            await stage.stop()
            assert told(stage) == len(stage.hosts), "each node has told it, once"
            assert_no_run_started_twice(stage)
            stage.url = replica.url
            await assert_all_is_explained(stage)

    with redis_server() as master, master.replica() as replica:
        asyncio.run(act(master, replica))


def test_an_emptied_server_has_the_jobs_of_programs_again_and_what_ran_does_not_run_again(
    tmp_path: Path,
) -> None:
    async def act(server: RedisServer) -> None:
        async with staged(server.url, tmp_path, {}, {}) as stage:
            await stage.start()
            await at_work(stage, 20)
            server.ask("FLUSHALL")
            await at_work(stage, 20)
            await all_have_told(stage)
            await stage.stop()
            assert told(stage) == len(stage.hosts), "each node has told it, once"
            assert_no_run_started_twice(stage)
            tokens: dict[str, list[int]] = {}
            for note in stage.notes("start"):
                tokens.setdefault(note.facts["job"], []).append(note.facts["token"])
            falling = [job for job, given in tokens.items() if given != sorted(given)]
            assert falling == [], "a fence must not let the old ones in again"

    with redis_server() as server:
        asyncio.run(act(server))
