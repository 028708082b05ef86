"""What was answered must survive a power cut: every connection of a store waits for the disk."""

from __future__ import annotations

import asyncio
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.clock import SystemClock
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
            assert len(workers) == 3, "one writes, two read"
            for worker in workers:
                assert await worker.call("look", look) == (FULL, "wal")

    asyncio.run(act())


def revision_after(cut: Cut, folder: Path) -> str | None:
    """What a store finds when the power is back."""
    place = folder / f"after-{cut.confirmed}"
    place.mkdir()
    for name, content in cut.disk.items():
        (place / Path(name).name).write_bytes(content)

    async def look() -> str | None:
        async with SqliteStore(place / "jobs.db", SystemClock()) as store:
            return await store.revision(SOURCE)

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
    kept = [revision_after(cut, tmp_path) == cut.confirmed for cut in found]
    assert all(kept) is (synchronous == "FULL")
