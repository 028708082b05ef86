"""The store under test: a file, a server of the harness's own, or somebody's; and each host's way to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from sqlite3 import connect
from urllib.parse import SplitResult, urlencode, urlsplit

from foliot.errors import FoliotError
from foliot.stores.sqlite import sqlite_path
from foliot.testing.servers import PostgresServer, postgres_server
from foliot.wiring import check_url, flaws_of, schema_of
from foliot_proof.faults import disk
from foliot_proof.faults.fault import ON_THE_WAY, Kind
from foliot_proof.faults.proxy import Proxy

POSTGRES = "postgres"  # instead of a URL: a server of the harness's own
_SCHEMES = ("postgresql", "postgres")
_PORT = 5432
# The proxy reads along, so nothing may be encrypted.
_IN_CLEAR = {"sslmode": "disable", "gssencmode": "disable"}


class CannotTryError(ValueError):
    """A trial cannot be made as it was asked for; the message says why, and what to do."""


class Database:
    """A store's URL, and what can be done to it. A file has no proxies, and cannot be restarted."""

    def __init__(self, url: str, server: PostgresServer | None = None) -> None:
        self.url = url
        self.proxies: dict[str, Proxy] = {}
        self.is_up = True
        self._server = server

    @property
    def is_server(self) -> bool:
        """Whether nodes reach it over a network, and all time is its own."""
        return is_server(self.url)

    @property
    def file(self) -> Path:
        """The file of a store that is one."""
        return Path(sqlite_path(self.url))

    def cannot(self, kinds: Sequence[Kind]) -> str:
        """Why some faults cannot be had with this store; empty: they can."""
        ways = [kind for kind in kinds if kind in ON_THE_WAY]
        if ways and not self.is_server:
            return f"{', '.join(ways)}: there is no network between a node and a file; use --store postgres"
        if Kind.DISK in kinds and self.is_server:
            return "disk: that of a server is not this node's; use --store sqlite"
        if Kind.DISK in kinds and (reason := disk.why_not()):
            return f"disk: {reason}"
        if Kind.RESTART in kinds and self._server is None:
            return "restart: only a server of the harness's own is restarted; use --store postgres"
        if Kind.SERVERCLOCK in kinds and self._server is None:
            return "serverclock: only that of a server of the harness's own is set; use --store postgres"
        return ""

    async def open(self, hosts: Sequence[str]) -> None:
        """Give each host a way of its own."""
        if not self.is_server:
            return
        parts = urlsplit(self.url)
        for name in hosts:
            self.proxies[name] = Proxy(parts.hostname or "127.0.0.1", parts.port or _PORT)
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
        return _in_clear(parts._replace(netloc=f"{account}127.0.0.1:{self.proxies[host].port}"))

    async def stop(self) -> None:
        """The server crashes."""
        if self._server is not None:
            self.is_up = False
            await asyncio.to_thread(self._server.stop, immediate=True)

    async def start(self) -> None:
        """The server is back."""
        if self._server is not None and not self.is_up:
            await asyncio.to_thread(self._server.start)
            self.is_up = True

    def set_clock(self, seconds: float) -> None:
        """The server's clock is off by so much from now on."""
        if self._server is not None:
            self._server.set_clock(seconds)


def _in_clear(parts: SplitResult) -> str:
    query = "&".join(filter(None, (parts.query, urlencode(_IN_CLEAR))))
    return parts._replace(query=query).geturl()


def is_server(url: str) -> bool:
    """Whether a URL names a store on a server; `postgres` alone does, too."""
    return urlsplit(url).scheme in _SCHEMES or url == POSTGRES


@asynccontextmanager
async def open_database(store: str, folder: Path, *, has_clock: bool = False) -> AsyncIterator[Database]:
    """The store of a trial; nothing: a file in its folder. MissingServerError if a server cannot be had.

    `has_clock`: the clock of a server of the harness's own can be set.
    """
    if store != POSTGRES:
        yield Database(store or f"sqlite:///{folder}/store.db")
        return
    with postgres_server(has_clock=has_clock) as server:
        yield Database(server.url, server)


def reach(url: str) -> None:
    """Refuse a store that nodes would not find; nothing is made there yet."""
    advice = f"use --store sqlite, --store {POSTGRES}, or the URL of a server that is up"
    try:
        check_url(url)
        if is_server(url):
            from foliot.stores.postgres.inspection import knock  # noqa: PLC0415 - its driver may not be there

            knock(_in_clear(urlsplit(url)))
        elif urlsplit(url).scheme != "sqlite":
            schema_of(url)  # which refuses what nodes cannot share
        elif not (folder := sqlite_path(url).absolute().parent).is_dir():
            raise CannotTryError(f"{url}: there is no folder {folder}; create it first")
    except FoliotError as error:
        raise CannotTryError(f"{error}\n{error.hint or advice}") from error


def file_problems(url: str) -> Iterator[str]:
    """What the storage engine itself finds wrong with a store, and what should not be there any more."""
    if is_server(url):
        yield from flaws_of(url)
        return
    path = Path(sqlite_path(url))
    with closing(connect(path)) as connection:
        for (answer,) in connection.execute("PRAGMA integrity_check"):
            if answer != "ok":
                yield f"integrity: {answer}"
        yield from (f"foreign key: {row}" for row in connection.execute("PRAGMA foreign_key_check"))
    yield from (f"left behind: {file.name}" for file in path.parent.glob(f"{path.name}-node-*"))
