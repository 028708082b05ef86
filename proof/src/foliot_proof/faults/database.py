"""The store under test: a file, a server of the harness's own, or somebody's; and each host's way to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from foliot.errors import FoliotError
from foliot.stores.sqlite import sqlite_path
from foliot.wiring import check_url, schema_of
from foliot_proof.faults import disk
from foliot_proof.faults.fault import ON_THE_WAY, Kind
from foliot_proof.faults.proxy import Proxy
from foliot_proof.stores import KINDS, CannotTryError, TriedServer, kind_of

_OWN = ", ".join(f"--store {name}" for name in KINDS)


class Database:
    """A store's URL, and what can be done to it. A file has no proxies, and cannot be restarted."""

    def __init__(self, url: str, server: TriedServer | None = None) -> None:
        self.url = url
        self.kind = kind_of(url)
        self.proxies: dict[str, Proxy] = {}
        self.is_up = True
        self._server = server

    @property
    def is_server(self) -> bool:
        """Whether nodes reach it over a network, and all time is its own."""
        return self.kind.is_server

    @property
    def file(self) -> Path:
        """The file of a store that is one."""
        return Path(sqlite_path(self.url))

    def cannot(self, kinds: Sequence[Kind]) -> str:
        """Why some faults cannot be had with this store; empty: they can."""
        ways = [kind for kind in kinds if kind in ON_THE_WAY]
        if ways and not self.is_server:
            return (
                f"{', '.join(ways)}: no network is between a node and a file; use --store postgres, or redis"
            )
        if Kind.DISK in kinds and self.is_server:
            return "disk: that of a server is not this node's; use --store sqlite"
        if Kind.DISK in kinds and (reason := disk.why_not()):
            return f"disk: {reason}"
        return self.kind.cannot(kinds, is_own=self._server is not None)

    async def open(self, hosts: Sequence[str]) -> None:
        """Give each host a way of its own."""
        if not self.is_server:
            return
        parts = urlsplit(self.url)
        for name in hosts:
            self.proxies[name] = Proxy(
                parts.hostname or "127.0.0.1", parts.port or self.kind.port, self.kind.talk
            )
            await self.proxies[name].open()

    async def close(self) -> None:
        """No more ways."""
        for proxy in self.proxies.values():
            await proxy.close()

    def url_for(self, host: str) -> str:
        """The URL by which a host's nodes reach it."""
        if host not in self.proxies:
            return self.url
        parts = urlsplit(self.url)
        account = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        own = parts._replace(netloc=f"{account}127.0.0.1:{self.proxies[host].port}")
        return self.kind.in_clear(own.geturl())

    @asynccontextmanager
    async def trouble(self, kind: Kind) -> AsyncIterator[None]:
        """Something is done to the server; it is over with the block."""
        assert self._server is not None  # noqa: S101 - `cannot` has said so otherwise
        async with self.kind.troubles[kind](self._server):
            self.is_up = False
            try:
                yield
            finally:
                self.is_up = True

    def set_clock(self, seconds: float) -> None:
        """The server's clock is off by so much from now on."""
        if self._server is not None:
            self._server.set_clock(seconds)


@asynccontextmanager
async def open_database(store: str, folder: Path, *, has_clock: bool = False) -> AsyncIterator[Database]:
    """The store of a trial; nothing: a file in its folder. MissingServerError if a server cannot be had.

    `has_clock`: the clock of a server of the harness's own can be set.
    """
    kind = KINDS.get(store or "sqlite")
    if kind is None:
        yield Database(store)
    elif not kind.is_server:
        with kind.place(folder) as url:
            yield Database(url)
    else:
        with kind.serve(has_clock=has_clock) as server:
            yield Database(server.url, server)


def reach(url: str) -> None:
    """Refuse a store that nodes would not find; nothing is made there yet."""
    advice = f"use {_OWN}, or the URL of a server that is up"
    try:
        check_url(url)
        if kind_of(url).is_server:
            kind_of(url).knock(url)
        elif urlsplit(url).scheme != "sqlite":
            schema_of(url)  # which refuses what nodes cannot share
        elif not (folder := sqlite_path(url).absolute().parent).is_dir():
            raise CannotTryError(f"{url}: there is no folder {folder}; create it first")
    except FoliotError as error:
        raise CannotTryError(f"{error}\n{error.hint or advice}") from error
