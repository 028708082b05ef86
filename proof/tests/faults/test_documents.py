"""The network between a worker of documents and its MongoDB fails, and workers stand still."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from pymongo import AsyncMongoClient

from doors.documents.recording import until
from foliot.doors.documents import Config, Job, LockLostError, MongoStore, Scheduler, StoreUnavailableError
from foliot_proof.faults.op_msg import WriteTalk
from foliot_proof.faults.proxy import BOTH, Proxy, Way, Weather
from real_mongodb import fresh_database, shared_mongodb_url
from real_mongodb_set import a_set

OLD = datetime(2026, 1, 1, 9, tzinfo=UTC)
LATER = datetime(2027, 1, 1, tzinfo=UTC)
PATIENCE = 1000  # milliseconds that a call of the driver may take
LOCK = b"\x02findAndModify\0"  # the command that locks a document, in BSON
WRITE = b"\x02update\0"  # the one that renews or settles


@pytest.fixture(scope="module")
def set_of_one() -> Iterator[str]:
    with a_set(1) as found:
        yield found.members[0].url


class Net:
    """A collection behind a proxy, and one beside it."""

    def __init__(self, proxy: Proxy, behind: Any, beside: Any) -> None:
        self.proxy = proxy
        self.behind = behind
        self.beside = beside
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.ran: list[Job] = []
        self.errors: list[Exception] = []

    async def handle(self, job: Job) -> None:
        self.ran.append(job)
        self.begun.set()
        await self.go.wait()

    def scheduler(self, collection: Any, lock: str) -> Scheduler:
        return Scheduler(
            Config(
                store=MongoStore(collection), on_document=self.handle, on_error=self.errors.append,
                lock_duration=lock, idle_delay="20ms", timezone="UTC", catch_up="next",
            )
        )  # fmt: skip

    async def found(self) -> Any:
        return (await self.beside.find_one())["sleepUntil"]

    def lost(self) -> list[str]:
        return [error.why for error in self.errors if isinstance(error, LockLostError)]


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[Net]:
    parts, name = urlsplit(url), fresh_database()
    proxy = Proxy(parts.hostname or "", parts.port or 0, WriteTalk)
    await proxy.open()
    own = parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{proxy.port}").geturl()
    facts: dict[str, Any] = {"tz_aware": True}
    try:
        async with (
            asyncio.timeout(120),
            AsyncMongoClient[Any](own, timeoutMS=PATIENCE, **facts) as behind,
            AsyncMongoClient[Any](url, **facts) as beside,
        ):
            net = Net(proxy, behind[name].jobs, beside[name].jobs)
            await net.beside.insert_one({"_id": 1, "sleepUntil": OLD, "interval": "0 0 1 1 *"})
            yield net
    finally:
        await proxy.close()


def play(url: str, act: Callable[[Net], Awaitable[None]]) -> None:
    async def run() -> None:
        async with proxied(url) as net:
            await act(net)

    asyncio.run(run())


def _reset(proxy: Proxy) -> None:
    proxy.change(Weather(refuses=True))
    proxy.cut()


WEATHERS: dict[str, Callable[[Proxy], object]] = {
    "all bytes are swallowed": lambda proxy: proxy.change(Weather(drops=BOTH)),
    "answers are swallowed": lambda proxy: proxy.change(Weather(drops=frozenset({Way.TO_NODE}))),
    "requests are swallowed": lambda proxy: proxy.change(Weather(drops=frozenset({Way.TO_SERVER}))),
    "answers come late": lambda proxy: proxy.change(Weather(holds=frozenset({Way.TO_NODE}))),
    "connections are reset": _reset,
    "requests end": lambda proxy: proxy.close_half(Way.TO_SERVER),
    "answers end": lambda proxy: proxy.close_half(Way.TO_NODE),
    "an answer is lost": lambda proxy: proxy.cut_commit(WRITE),
    "an answer ends after its first byte": lambda proxy: proxy.cut_commit(WRITE, passed=1),
}


@pytest.mark.parametrize("weather", WEATHERS)
def test_an_end_is_written_once_when_the_network_is_back(weather: str) -> None:
    async def act(net: Net) -> None:
        async with net.scheduler(net.behind, "1m") as scheduler:
            await net.begun.wait()
            WEATHERS[weather](net.proxy)
            net.go.set()
            await until(lambda: bool(net.errors) or not scheduler.is_processing())
            net.proxy.clear_up()
            await until(lambda: not scheduler.is_processing())
            assert net.proxy.bites.total() > 0, "something was done to the network"
            assert await net.found() >= LATER
        assert len(net.ran) == 1
        assert all(isinstance(error, StoreUnavailableError) for error in net.errors), net.errors

    play(shared_mongodb_url(), act)


def test_a_partition_that_is_longer_than_the_lock_ends_the_handler_and_another_worker_goes_on() -> None:
    async def act(net: Net) -> None:
        async with net.scheduler(net.behind, "1s"):
            await net.begun.wait()
            net.proxy.change(Weather(drops=BOTH))
            await until(lambda: bool(net.lost()))
            assert net.lost() == ["expired"]
            net.go.set()
            async with net.scheduler(net.beside, "1m") as other:
                await until(lambda: len(net.ran) > 1)
                await until(lambda: not other.is_processing())
            written = await net.found()
            net.proxy.clear_up()
            await until(lambda: len(net.errors) > 0)
        assert written >= LATER
        assert await net.found() == written, "who has lost its lock writes nothing"
        assert net.ran[0].sleep_until == OLD
        assert len(net.ran) == 2

    play(shared_mongodb_url(), act)


def test_a_lock_whose_answer_is_lost_is_given_again_by_a_replica_set(set_of_one: str) -> None:
    async def act(net: Net) -> None:
        net.go.set()
        net.proxy.cut_commit(LOCK)
        async with net.scheduler(net.behind, "1h") as scheduler:
            await net.begun.wait()
            await until(lambda: not scheduler.is_processing())
        assert net.proxy.bites["commits cut"] == 1
        assert [job.sleep_until for job in net.ran] == [OLD], "the same answer as the one that was lost"
        assert await net.found() >= LATER

    play(set_of_one, act)


def test_a_lock_whose_answer_is_lost_by_a_standalone_server_ends_by_itself() -> None:
    async def act(net: Net) -> None:
        net.go.set()
        net.proxy.cut_commit(LOCK)
        async with net.scheduler(net.behind, "1s") as scheduler:
            await net.begun.wait()
            await until(lambda: not scheduler.is_processing())
        assert net.proxy.bites["commits cut"] == 1
        (job,) = net.ran
        assert job.sleep_until is not None
        assert job.sleep_until > OLD, "the time at which the lock has ended: the older one is lost"
        assert isinstance(net.errors[0], StoreUnavailableError)

    play(shared_mongodb_url(), act)


# -- a worker that stands still --------------------------------------------------------------------

WORKER = """
import asyncio, sys
from pymongo import AsyncMongoClient
from foliot.doors.documents import Config, MongoStore, Scheduler

async def main(url, name):
    async def handle(job):
        print("begun", flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            print("cancelled", flush=True)
    async with AsyncMongoClient(url) as client:
        store = MongoStore(client[name].jobs)
        config = Config(store=store, on_document=handle, on_error=lambda error: print(error, flush=True),
                        lock_duration="1s", idle_delay="1h")
        await Scheduler(config).run()

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_worker_that_stood_still_for_longer_than_its_lock_writes_nothing() -> None:
    async def act(net: Net) -> None:
        url, name = shared_mongodb_url(), net.beside.database.name
        worker = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, url, name, stdout=PIPE)
        assert worker.stdout is not None
        assert await worker.stdout.readline() == b"begun\n"
        try:
            worker.send_signal(signal.SIGSTOP)
            net.go.set()
            async with net.scheduler(net.beside, "1m") as other:
                await net.begun.wait()
                await until(lambda: not other.is_processing())
            written = await net.found()
            worker.send_signal(signal.SIGCONT)
            said = [await worker.stdout.readline() for _ in range(2)]
        finally:
            worker.send_signal(signal.SIGCONT)
            worker.kill()
            await worker.wait()
        assert said[0] == b"cancelled\n"
        assert b"its lock has ended before its work" in said[1]
        assert await net.found() == written >= LATER
        assert len(net.ran) == 1

    play(shared_mongodb_url(), act)
