"""A TCP proxy between one host and its server, that can be told to fail in the ways that networks do.

Connections are cut (RST), bytes swallowed or held back, one way or both, travel slowly, or one half of a
connection ends and the other does not know. And a COMMIT can be let through while its answer is not: then
nobody on this side knows whether it took effect. It counts what it did (`bites`): a fault that hurt nobody is
none.
"""

from __future__ import annotations

import asyncio
import math
import socket
import struct
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from enum import Enum, auto
from typing import NamedTuple

from foliot.clock import SystemClock
from foliot_proof.faults.wire import Answer, Conversation, Talk

_CLOCK = SystemClock()
_CHUNK = 65536
_TIME_TO_PART = 1.0  # seconds for the last bytes to be taken
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: whatever is under way is thrown away, and RST is sent


class Way(Enum):
    """A direction."""

    TO_SERVER = auto()
    TO_NODE = auto()


BOTH = frozenset(Way)


class Weather(NamedTuple):
    """How bytes travel. `drops`, `holds`: directions; `delay` in seconds, `rate` in bytes a second."""

    drops: frozenset[Way] = frozenset()
    holds: frozenset[Way] = frozenset()
    refuses: bool = False
    delay: float = 0.0
    rate: float = math.inf


FAIR = Weather()


class Proxy:
    """Listens on a port of its own, and passes on what it hears."""

    def __init__(self, host: str, port: int, talk: Callable[[], Talk] = Conversation) -> None:
        self.port = 0
        self.talk = talk  # understands a connection
        self.bites: Counter[str] = Counter()
        self.weather = FAIR
        self.words: bytes | None = None  # of the transaction whose commit is not to be answered
        self.passed = 0  # bytes of its answer that are passed on all the same
        self.cut_one = asyncio.Event()  # a commit was carried out, and its answer thrown away
        self._target = host, port
        self._links: set[Link] = set()
        self._is_fair = asyncio.Event()
        self._is_fair.set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """No more connections."""
        if self._server is not None:
            self._server.close()
        self.clear_up()
        for link in list(self._links):
            link.reset()
        while self._links:
            await asyncio.gather(*(link.over.wait() for link in self._links))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.weather.refuses:
            self.bites["refused"] += 1
            _reset(writer)
            return
        try:
            other = await asyncio.open_connection(*self._target)
        except OSError:
            _reset(writer)
            return
        link = Link(self, (reader, writer), other)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)

    # -- faults ------------------------------------------------------------------------------------

    def lead_to(self, host: str, port: int) -> None:
        """From now on connections lead to another server; those that there are, are cut."""
        self._target = host, port
        self.cut()

    def change(self, weather: Weather) -> None:
        """From now on bytes travel like this."""
        self.weather = weather
        self._is_fair.clear()

    def clear_up(self) -> None:
        """All is well again; connections of which bytes are missing are cut, as they are of no more use."""
        self.weather = FAIR
        self.words = None
        self._is_fair.set()
        for link in list(self._links):
            if link.is_spoiled:
                link.reset()

    def cut(self) -> None:
        """Cut all connections: both sides are told by RST."""
        for link in list(self._links):
            self.bites["reset"] += 1
            link.reset()

    def close_half(self, way: Way) -> None:
        """Say goodbye in one direction only, and swallow what comes in it; the other one stays as it is."""
        for link in list(self._links):
            self.bites["half-closed"] += 1
            link.close_half(way)

    def cut_commit(self, words: bytes, *, passed: int = 0) -> None:
        """Throw away the answer to the next commit of a transaction with these words, and its connection.

        `passed`: the node gets so many bytes of the answer, and then the connection ends.
        """
        self.words, self.passed = words, passed
        self.cut_one.clear()

    async def until_fair(self) -> None:
        """Wait until bytes travel again."""
        await self._is_fair.wait()


Side = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Link:
    """One connection: from a node to the proxy, and from there to the server."""

    def __init__(self, proxy: Proxy, node: Side, server: Side) -> None:
        self.over = asyncio.Event()
        self._proxy = proxy
        self._readers = {Way.TO_SERVER: node[0], Way.TO_NODE: server[0]}
        self._writers = {Way.TO_SERVER: server[1], Way.TO_NODE: node[1]}
        self._broken: set[Way] = set()  # bytes are missing: what follows would make no sense
        self._talk = proxy.talk()
        self._tells_node = True
        self._is_cut = asyncio.Event()
        self._is_trapped = False
        self._is_over = False  # the node has got as much of an answer as it was to get
        self._kept = b""

    @property
    def is_spoiled(self) -> bool:
        """Whether it is of no more use to anybody."""
        return bool(self._broken)

    async def run(self) -> None:
        """Pass bytes on until one side ends."""
        pumps = [asyncio.ensure_future(self._pump(way)) for way in Way]
        pumps.append(asyncio.ensure_future(self._until_cut()))
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for writer in self._writers.values():
                writer.close()
            for writer in self._writers.values():
                with suppress(OSError, TimeoutError):
                    await asyncio.wait_for(writer.wait_closed(), _TIME_TO_PART)
                _reset(writer)
            self.over.set()

    def reset(self) -> None:
        """Cut it, on both sides."""
        self._is_cut.set()
        for writer in self._writers.values():
            _reset(writer)

    def close_half(self, way: Way) -> None:
        """End one direction, and tell nobody else."""
        self._broken.add(way)
        self._tells_node = way is not Way.TO_SERVER
        with suppress(OSError, RuntimeError):  # it has ended meanwhile
            self._writers[way].write_eof()

    async def _pump(self, way: Way) -> None:
        while data := await self._read(way):
            for piece in self._looked_at(way, data):
                await self._pass(way, piece)
            if way is Way.TO_NODE and self._is_over:
                return
        if way in self._proxy.weather.drops or (way is Way.TO_NODE and not self._tells_node):
            self._broken.add(way)
            await self._until_cut()  # nobody is told; whoever clears up cuts it
        if way in self._proxy.weather.holds:
            await self._proxy.until_fair()

    async def _until_cut(self) -> None:
        await self._is_cut.wait()

    async def _read(self, way: Way) -> bytes:
        with suppress(OSError):
            return await self._readers[way].read(_CHUNK)
        return b""

    async def _pass(self, way: Way, data: bytes) -> None:
        weather, bites = self._proxy.weather, self._proxy.bites
        if way in weather.holds:
            bites["held"] += len(data)
            await self._proxy.until_fair()
        if way in weather.drops or way in self._broken:
            self._broken.add(way)
            bites["swallowed"] += len(data)
            return
        if weather.delay:
            bites["delayed"] += 1
            await _CLOCK.wait(timedelta(seconds=weather.delay + len(data) / weather.rate))
        writer = self._writers[way]
        writer.write(data)
        with suppress(OSError):
            await writer.drain()

    # -- commits -----------------------------------------------------------------------------------

    def _looked_at(self, way: Way, data: bytes) -> list[bytes]:
        """What is to be passed on of what was read. The answer to a commit may be kept, and thrown away."""
        proxy = self._proxy
        if way is Way.TO_SERVER:
            is_wanted = proxy.words is not None
            if self._talk.ask(data, proxy.words or b"") and is_wanted:
                proxy.words, self._is_trapped = None, True
                proxy.bites["commits seen"] += 1
            return [data]
        answer = self._talk.answer(data)
        if not self._is_trapped:
            return [data]
        self._kept += data
        if answer is Answer.DONE:
            proxy.bites["commits cut"] += 1
            proxy.cut_one.set()
            if proxy.passed:
                self._is_over = True
                return [self._kept[: proxy.passed]]
            self.reset()
            return []
        if answer is Answer.REFUSED:
            self._is_trapped = False
            kept, self._kept = self._kept, b""
            return [kept]
        return []


def _reset(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        sock = writer.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport = writer.transport
    if isinstance(transport, asyncio.Transport):
        transport.abort()
