"""What the loops and the fault harness must know of a kind of store."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Protocol

from foliot.protocols import Clock
from foliot.wiring import FullStore, flaws_of
from foliot_proof.faults import trap
from foliot_proof.faults.fault import OF_THE_SERVER, Kind
from foliot_proof.faults.wire import Talk

Failpoint = Callable[[str], None]


class CannotTryError(ValueError):
    """A trial cannot be made as it was asked for; the message says why, and what to do."""


class TriedServer(Protocol):
    """A server that was started for a trial, so it may be injured."""

    url: str

    def start(self) -> None: ...
    def stop(self, *, immediate: bool = False) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def set_clock(self, seconds: float) -> None: ...


Trouble = Callable[[TriedServer], AbstractAsyncContextManager[None]]


class StoreKind(ABC):
    """One kind of store.

    `loop_steps` are steps of this store at which the kill loop ends lives, beside those that all stores have;
    `steps` are all at which the fault harness does. `troubles`: what can be done to a server of its own.
    `claim_words` and `any_words` are in what a node sends when it writes a claim, or anything.
    """

    name: str
    schemes: tuple[str, ...]
    is_server: ClassVar[bool] = True
    port: ClassVar[int] = 0
    loop_steps: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[tuple[str, ...]] = trap.ALL
    claim_words: ClassVar[bytes] = b""
    any_words: ClassVar[bytes] = b""

    @abstractmethod
    def load(self) -> None:
        """Import the driver: once, before processes are forked."""

    @abstractmethod
    def place(self, folder: Path) -> AbstractContextManager[str]:
        """The URL of a fresh store, for as long as the block lasts. MissingServerError."""

    @abstractmethod
    def open(
        self, url: str, clock: Clock, *, lease: timedelta, failpoint: Failpoint
    ) -> AbstractAsyncContextManager[FullStore]:
        """A store that goes by a clock of a loop; in a loop every node of an earlier life is dead."""

    @abstractmethod
    def spy(self, failpoint: Failpoint) -> None:
        """Have the stores that this process opens call a failpoint."""

    def problems(self, url: str) -> Iterator[str]:
        """What is wrong with the store itself, when nobody uses it."""
        yield from flaws_of(url)

    # -- of a server -------------------------------------------------------------------------------

    @property
    def troubles(self) -> Mapping[Kind, Trouble]:
        """What can be done to a server that was started here; each is over when its block ends."""
        return {Kind.RESTART: crashed, Kind.HANG: paused}

    def serve(self, *, has_clock: bool) -> AbstractContextManager[TriedServer]:
        """A server of one's own. `has_clock`: its clock can be set. MissingServerError."""
        raise NotImplementedError

    def in_clear(self, url: str) -> str:
        """The URL, for a proxy that reads along: nothing is encrypted."""
        return url

    def knock(self, url: str) -> None:
        """StoreError if there is no server, or it lets nobody in; nothing is made there."""
        raise NotImplementedError

    def talk(self) -> Talk:
        """Understands what is said on one connection."""
        raise NotImplementedError

    def cannot(self, kinds: Collection[Kind], *, is_own: bool) -> str:
        """Why the server cannot be injured like that; empty: it can."""
        wanted = [kind for kind in kinds if kind in (*OF_THE_SERVER, Kind.SERVERCLOCK)]
        known = {*self.troubles, Kind.SERVERCLOCK} if self.is_server and is_own else set()
        unknown = [kind for kind in wanted if kind not in known]
        if not unknown:
            return ""
        return f"{unknown[0]}: only a server of the harness's own is injured so; {_SERVERS[unknown[0]]}"


_SERVERS = {
    **dict.fromkeys((Kind.RESTART, Kind.HANG, Kind.SERVERCLOCK), "use --store postgres, or --store redis"),
    **dict.fromkeys((Kind.FULL, Kind.SCRIPTFLUSH), "use --store redis"),
}


@asynccontextmanager
async def crashed(server: TriedServer) -> AsyncIterator[None]:
    """It is killed, and started again."""
    await asyncio.to_thread(lambda: server.stop(immediate=True))
    try:
        yield
    finally:
        await asyncio.to_thread(server.start)


@asynccontextmanager
async def paused(server: TriedServer) -> AsyncIterator[None]:
    """It takes connections and requests, and answers them when it goes on."""
    server.pause()
    try:
        yield
    finally:
        server.resume()


def swap(module: object, name: str, value: object) -> None:
    """Put something in the place of a part; if that is no longer there, fail loudly."""
    getattr(module, name)
    setattr(module, name, value)
