"""Just enough of HTTP/1.1 for a client that measures: a request, an answer, and bytes as they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count

_ADDRESSES = count()
_OF_ADDRESS = 50  # connections; the server takes 64


class Connection:
    """A connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, request: bytes) -> int:
        """Send a request, and read the whole answer; its status."""
        self.writer.write(request)
        await self.writer.drain()
        status, length = await self.read_head()
        await self.reader.readexactly(length)
        return status

    async def read_head(self) -> tuple[int, int]:
        """The status of an answer, and the length of its body."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        lengths = (int(line[15:]) for line in lines if line.startswith(b"content-length:"))
        return int(lines[0][9:12]), next(lengths, 0)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Connection]:
    """A connection, for a while; not too many have the same address."""
    address = f"127.0.0.{2 + next(_ADDRESSES) // _OF_ADDRESS % 250}"
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    try:
        yield Connection(reader, writer)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def request(verb: str, path: str, token: str, *headers: str) -> bytes:
    """The head of a request."""
    lines = (f"{verb} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}", *headers)
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()
