"""Redis and Valkey: a server whose every write is one script, in a namespace."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import ClassVar

from foliot.clock import SystemClock
from foliot.protocols import Clock
from foliot.testing.servers import RedisServer, redis_server
from foliot.wiring import FullStore, flaws_of
from foliot_proof.faults import trap
from foliot_proof.faults.fault import Kind
from foliot_proof.faults.resp import ScriptTalk
from foliot_proof.faults.wire import Talk
from foliot_proof.stores.kind import Failpoint, StoreKind, TriedServer, Trouble, swap

_MEMORY = Path("/dev/shm")  # noqa: S108 - each server makes a folder of its own there
_OFTEN = timedelta(milliseconds=20)
_STAGES = ("freeze", "verify", "count", "apply")  # of a revision that is too large for one script
_SCRIPTS = (
    "claim.look", "recover.bury", "recover.commit", *(f"reconcile.{stage}" for stage in _STAGES)
)  # fmt: skip
_NEVER = ("write_outputs:",)  # a command alone, and no script


class Redis(StoreKind):
    """A store in a namespace of Redis, or of Valkey."""

    schemes = ("redis", "valkey")
    port: ClassVar[int] = 6379
    loop_steps: ClassVar[tuple[str, ...]] = tuple(
        f"{script}:{side}" for script in _SCRIPTS for side in ("before", "after")
    )
    steps: ClassVar[tuple[str, ...]] = tuple(
        step for step in (*trap.ENGINE, *trap.COMMITS[2:], *trap.PARTING) if not step.startswith(_NEVER)
    )
    claim_words: ClassVar[bytes] = b'"needs_lease": true'  # only a claim needs one
    any_words: ClassVar[bytes] = b'"needs_lease"'

    def __init__(self, program: str, fsync: str = "always") -> None:
        self.name = program if fsync == "always" else f"{program}-{fsync}"
        self._program = program
        self._fsync = fsync

    def load(self) -> None:
        importlib.import_module("foliot.stores.redis")

    @contextmanager
    def place(self, folder: Path) -> Iterator[str]:  # noqa: ARG002 - a server has a folder of its own
        with redis_server(self._program, fsync=self._fsync) as server:
            yield server.url

    def serve(self, *, has_clock: bool) -> AbstractContextManager[TriedServer]:
        # A killed process loses nothing that it has given to the kernel, so the disk proves nothing here.
        place = _MEMORY if _MEMORY.is_dir() else None
        return redis_server(self._program, fsync=self._fsync, has_clock=has_clock, place=place)

    @asynccontextmanager
    async def open(
        self, url: str, clock: Clock, *, lease: timedelta, failpoint: Failpoint
    ) -> AsyncIterator[FullStore]:
        from foliot.stores.redis import RedisStore  # noqa: PLC0415 - its driver may not be there

        async with RedisStore(url, lease=lease, time=clock, failpoint=failpoint) as store:
            store.traits = store.traits._replace(proves_deaths=True)
            yield store

    def spy(self, failpoint: Failpoint) -> None:
        from foliot.stores import redis  # noqa: PLC0415 - its driver may not be there

        swap(redis, "RedisStore", partial(redis.RedisStore, failpoint=failpoint))

    def knock(self, url: str) -> None:
        flaws_of(url)  # an empty namespace has none

    def talk(self) -> Talk:
        return ScriptTalk()

    @property
    def troubles(self) -> Mapping[Kind, Trouble]:
        return {**super().troubles, Kind.FULL: full, Kind.SCRIPTFLUSH: forgetful}


@asynccontextmanager
async def full(server: TriedServer) -> AsyncIterator[None]:
    """It has no memory left, and refuses every script that may need some."""
    set_memory(server, "1")
    try:
        yield
    finally:
        set_memory(server, "0")


def set_memory(server: TriedServer, limit: str) -> None:
    """How many bytes the server may have; 0: as many as it likes."""
    assert isinstance(server, RedisServer)  # noqa: S101 - what `serve` gave
    server.ask("CONFIG", "SET", "maxmemory", limit)


@asynccontextmanager
async def forgetful(server: TriedServer) -> AsyncIterator[None]:
    """It forgets its scripts again and again: no node can rely on having sent one."""
    assert isinstance(server, RedisServer)  # noqa: S101 - what `serve` gave

    async def forget() -> None:
        while True:
            await asyncio.to_thread(server.ask, "SCRIPT", "FLUSH")
            await SystemClock().wait(_OFTEN)

    forgetting = asyncio.ensure_future(forget())
    try:
        yield
    finally:
        forgetting.cancel()
        with suppress(asyncio.CancelledError):
            await forgetting
