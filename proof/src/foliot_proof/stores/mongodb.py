"""MongoDB: a server that writes one document at a time, so a verb is several writes."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import ClassVar

from foliot.protocols import Clock
from foliot.testing.servers import mongodb_server, mongodb_set
from foliot.wiring import FullStore, flaws_of
from foliot_proof.faults import trap
from foliot_proof.faults.op_msg import WriteTalk
from foliot_proof.faults.wire import Talk
from foliot_proof.stores.kind import Failpoint, StoreKind, TriedServer, swap

_WRITES = (
    "claim.ask", "finish.note", "finish.carry", "recover.bury", "recover.note", "recover.carry",
    "reconcile.begin", "reconcile.prepare", "reconcile.apply", "reconcile.end",
)  # fmt: skip
_PATIENCE = timedelta(seconds=5)
_SILENCE = 200  # milliseconds
_ALONE = ("write_outputs:", "open:")  # a write that nothing depends on


class MongoDB(StoreKind):
    """A store in a database of a standalone server, or of a replica set of one."""

    schemes = ("mongodb", "mongodb+srv")
    port: ClassVar[int] = 27017
    loop_steps: ClassVar[tuple[str, ...]] = tuple(
        f"{write}:{side}" for write in _WRITES for side in ("before", "after")
    )
    steps: ClassVar[tuple[str, ...]] = tuple(
        step for step in (*trap.ENGINE, *trap.COMMITS, *trap.PARTING) if not step.startswith(_ALONE)
    )
    claim_words: ClassVar[bytes] = b"\x02k\0"  # the claim id of an attempt, in BSON
    any_words: ClassVar[bytes] = b"\x02update\0\x05\0\0\0jobs\0"

    def __init__(self, *, is_set: bool = False) -> None:
        self.name = "mongodb-set" if is_set else "mongodb"
        self._is_set = is_set

    def load(self) -> None:
        # Who has begun a revision and is silent is dead: the next life need not wait for it.
        swap(importlib.import_module("foliot.stores.mongodb.transaction"), "SILENCE", _SILENCE)

    @contextmanager
    def place(self, folder: Path) -> Iterator[str]:  # noqa: ARG002 - a server has a folder of its own
        with self.serve(has_clock=False) as server:
            yield server.url

    @contextmanager
    def serve(self, *, has_clock: bool) -> Iterator[TriedServer]:
        if not self._is_set:
            with mongodb_server(has_clock=has_clock) as server:
                yield server
        else:
            with mongodb_set(1, clocks=(0,) if has_clock else ()) as found:
                yield found.members[0]  # its URL is that of this one server: a proxy may stand before it

    @asynccontextmanager
    async def open(
        self, url: str, clock: Clock, *, lease: timedelta, failpoint: Failpoint
    ) -> AsyncIterator[FullStore]:
        from foliot.stores.mongodb import MongoStore  # noqa: PLC0415 - its driver may not be there

        store = MongoStore(url, lease=lease, time=clock, failpoint=failpoint)
        store._deadline = _PATIENCE  # noqa: SLF001 - a life is about deaths; a busy machine is no fault here
        async with store:
            store.traits = store.traits._replace(proves_deaths=True)
            yield store

    def spy(self, failpoint: Failpoint) -> None:
        from foliot.stores import mongodb  # noqa: PLC0415 - its driver may not be there

        swap(mongodb, "MongoStore", partial(mongodb.MongoStore, failpoint=failpoint))

    def knock(self, url: str) -> None:
        flaws_of(url)  # an empty database has none

    def talk(self) -> Talk:
        return WriteTalk()
