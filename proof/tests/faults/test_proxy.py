"""Each fault of the network bites, on a real server, as its name says; and afterwards all is well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from foliot.clock import SystemClock
from foliot_proof.faults.database import Database
from foliot_proof.faults.proxy import BOTH, Proxy, Way, Weather

CLOCK = SystemClock()
TO_NODE, TO_SERVER = frozenset({Way.TO_NODE}), frozenset({Way.TO_SERVER})
Client = psycopg.AsyncConnection[tuple[Any, ...]]


class Net:
    """A server, a proxy before it, and those who use it."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        self._clients: list[Client] = []

    @property
    def proxy(self) -> Proxy:
        return self._database.proxies["here"]

    async def client(self, *, is_direct: bool = False) -> Client:
        url = self._database.url if is_direct else self._database.url_for("here")
        self._clients.append(await psycopg.AsyncConnection.connect(url, autocommit=True, connect_timeout=5))
        return self._clients[-1]

    async def open(self) -> None:
        await self._database.open(["here"])

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
        await self._database.close()


@asynccontextmanager
async def proxied(server_url: str) -> AsyncIterator[Net]:
    net = Net(server_url)
    await net.open()
    try:
        yield net
    finally:
        await net.close()


async def answers(connection: Client) -> bool:
    """Whether the server answers; an error is raised as it is."""
    await connection.execute("SELECT 1")
    return True


async def hangs(connection: Client) -> asyncio.Future[bool]:
    """A question that is not answered for a while. Who asked is not cancelled: the driver would wait long."""
    asked = asyncio.ensure_future(answers(connection))
    await asyncio.wait((asked,), timeout=0.3)
    assert not asked.done()
    return asked


def play(act: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await act()

    asyncio.run(run())


def test_in_fair_weather_it_is_not_there(server_url: str) -> None:
    async def act() -> None:
        async with proxied(server_url) as net:
            connection = await net.client()
            assert connection.info.port == net.proxy.port
            assert await answers(connection)
            assert not net.proxy.bites

    play(act)


def test_a_cut_connection_is_reset_and_nobody_is_let_in(server_url: str) -> None:
    async def act() -> None:
        async with proxied(server_url) as net:
            proxy = net.proxy
            connection = await net.client()
            proxy.change(Weather(refuses=True))
            proxy.cut()
            with pytest.raises(psycopg.OperationalError):
                await answers(connection)
            with pytest.raises(psycopg.OperationalError):
                await net.client()
            assert (proxy.bites["reset"], proxy.bites["refused"]) == (1, 1)
            proxy.clear_up()
            assert await answers(await net.client())

    play(act)


@pytest.mark.parametrize("ways", [BOTH, TO_NODE, TO_SERVER], ids=["both ways", "answers", "requests"])
def test_what_is_swallowed_never_comes(server_url: str, ways: frozenset[Way]) -> None:
    async def act() -> None:
        async with proxied(server_url) as net:
            proxy = net.proxy
            connection = await net.client()
            proxy.change(Weather(drops=ways))
            asked = await hangs(connection)
            assert proxy.bites["swallowed"] > 0
            proxy.clear_up()
            with pytest.raises(psycopg.OperationalError):
                await asked
            assert await answers(await net.client())

    play(act)


@pytest.mark.parametrize("ways", [BOTH, TO_NODE, TO_SERVER], ids=["both ways", "answers", "requests"])
def test_what_is_held_back_comes_later(server_url: str, ways: frozenset[Way]) -> None:
    async def act() -> None:
        async with proxied(server_url) as net:
            proxy = net.proxy
            connection = await net.client()
            proxy.change(Weather(holds=ways))
            asked = await hangs(connection)
            assert proxy.bites["held"] > 0
            proxy.clear_up()
            assert await asked

    play(act)


def test_slow_is_slow_each_way(server_url: str) -> None:
    async def act() -> None:
        async with proxied(server_url) as net:
            proxy = net.proxy
            connection = await net.client()
            proxy.change(Weather(delay=0.1))
            begin = CLOCK.monotonic()
            assert await answers(connection)
            assert CLOCK.monotonic() - begin >= 0.2
            assert proxy.bites["delayed"] >= 2

    play(act)


@pytest.mark.parametrize("way", list(Way))
def test_half_a_connection_ends(server_url: str, way: Way) -> None:
    async def act() -> None:
        async with proxied(server_url) as net:
            proxy = net.proxy
            connection = await net.client()
            proxy.close_half(way)
            assert proxy.bites["half-closed"] == 1
            if way is Way.TO_NODE:
                with pytest.raises(psycopg.OperationalError):
                    await answers(connection)
            else:
                asked = await hangs(connection)  # the server has hung up, and nobody tells the node
                proxy.clear_up()
                with pytest.raises(psycopg.OperationalError):
                    await asked
            assert await answers(await net.client())

    play(act)


@pytest.mark.parametrize("is_pipelined", [False, True], ids=["one by one", "in a pipeline"])
def test_a_commit_is_carried_out_and_its_answer_lost(
    server_url: str,
    is_pipelined: bool,  # noqa: FBT001 - a column of the table
) -> None:
    async def act() -> None:
        async with proxied(server_url) as net:
            proxy, other = net.proxy, await net.client(is_direct=True)
            await other.execute("DROP TABLE IF EXISTS cut")
            await other.execute("CREATE TABLE cut (value int)")
            connection = await net.client()
            proxy.cut_commit(b"INSERT INTO cut")
            await write(connection, "SELECT 1", is_pipelined=is_pipelined)
            assert not proxy.cut_one.is_set(), "that was another transaction"
            with pytest.raises(psycopg.OperationalError):
                await write(connection, "INSERT INTO cut VALUES (7)", is_pipelined=is_pipelined)
            assert (proxy.bites["commits seen"], proxy.bites["commits cut"]) == (1, 1)
            assert await (await other.execute("SELECT value FROM cut")).fetchall() == [(7,)]
            await write(await net.client(), "INSERT INTO cut VALUES (8)", is_pipelined=is_pipelined)

    play(act)


async def write(connection: Client, statement: str, *, is_pipelined: bool) -> None:
    if is_pipelined:
        async with connection.pipeline():
            for text in ("BEGIN", statement, "COMMIT"):
                await connection.execute(text)
    else:
        for text in ("BEGIN", statement, "COMMIT"):
            await connection.execute(text)


def test_a_commit_that_the_server_refuses_is_answered(server_url: str) -> None:
    async def act() -> None:
        async with proxied(server_url) as net:
            proxy = net.proxy
            connection = await net.client()
            proxy.cut_commit(b"BEGIN")
            with pytest.raises(psycopg.errors.DivisionByZero):
                await write(connection, "SELECT 1/0", is_pipelined=True)
            assert proxy.bites["commits seen"] == 1
            assert not proxy.cut_one.is_set()
            await connection.execute("ROLLBACK")
            assert await answers(connection)

    play(act)
