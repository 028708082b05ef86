"""What was answered must survive a power cut: every connection of a store waits for the disk."""

from __future__ import annotations

import asyncio
import shutil
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from foliot.access.audit import Actor, Auditor
from foliot.clock import SystemClock
from foliot.engine.reconciler import reconcile
from foliot.model.query import AuditQuery
from foliot.protocols import Snapshot
from foliot.stores.sqlite import SqliteStore
from foliot.stores.sqlite.session import SqliteSession
from foliot.stores.sqlite.worker import Worker
from foliot.wiring import open_store
from stores.sqlite.power_cut import REVISIONS, SOURCE, Cut, cuts

FULL = 2


def test_every_connection_is_synchronous_unless_asked_otherwise(tmp_path: Path) -> None:
    def look(session: SqliteSession) -> tuple[int, str]:
        ask = session.connection.execute
        return ask("PRAGMA synchronous").fetchone()[0], ask("PRAGMA journal_mode").fetchone()[0]

    async def act() -> None:
        lease = timedelta(seconds=30)
        async with open_store(f"sqlite:///{tmp_path}/jobs.db", SystemClock(), lease=lease) as store:
            assert isinstance(store, SqliteStore)
            workers = [worker for worker in vars(store).values() if isinstance(worker, Worker)]
            assert len(workers) == 4, "one writes, three read"
            for worker in workers:
                assert await worker.call("look", look) == (FULL, "wal")

    asyncio.run(act())


def test_an_entry_of_the_audit_waits_for_the_disk_with_the_change_that_it_announces(tmp_path: Path) -> None:
    """One wait of the disk for a change instead of three."""

    async def act() -> list[str]:
        said: list[str] = []
        async with SqliteStore(tmp_path / "jobs.db", SystemClock()) as store:
            await store._writer.call(
                "trace", lambda session: session.connection.set_trace_callback(said.append)
            )
            async with Auditor(store, SystemClock(), Actor("somebody")).change("put", "source:s"):
                await reconcile(store, SOURCE, Snapshot("r", ()), SystemClock().now())
        return [word for word in said if word.startswith(("PRAGMA synchronous", "COMMIT"))]

    lazy, full = "PRAGMA synchronous = NORMAL", "PRAGMA synchronous = FULL"
    said = asyncio.run(act())
    assert said[said.index(lazy) :][:6] == [lazy, "COMMIT", full, "COMMIT", lazy, "COMMIT"]


class After(NamedTuple):
    """What is left of a change, and of the entry that announced it."""

    revision: str | None
    audited: set[str]


def left_after(cut: Cut, folder: Path) -> After:
    """What a store finds when the power is back."""
    place = folder / f"after-{cut.confirmed}"
    place.mkdir()
    for name, content in cut.disk.items():
        (place / Path(name).name).write_bytes(content)

    async def look() -> After:
        async with SqliteStore(place / "jobs.db", SystemClock()) as store:
            entries = await store.audit(AuditQuery())
            return After(await store.revision(SOURCE), {entry.object for entry in entries})

    return asyncio.run(look())


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace here")
@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_what_was_confirmed_survives_a_power_cut_if_synchronous_is_full(
    tmp_path: Path, synchronous: str
) -> None:
    """R15, NORMAL sync: what FULL is there to prevent is found where it is planted."""
    found = list(cuts(tmp_path / "jobs.db", synchronous, tmp_path / "calls"))
    if not found:
        pytest.skip("this process may not be traced")

    assert len(found) == REVISIONS
    left = [left_after(cut, tmp_path) for cut in found]
    kept = [after.revision == cut.confirmed for after, cut in zip(left, found, strict=True)]
    assert all(kept) is (synchronous == "FULL")
    for after in left:  # no change is kept whose entry is lost
        assert after.revision is None or f"source:{after.revision}" in after.audited
