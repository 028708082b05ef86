"""R8: a disk that is full, or read-only. Nothing is claimed that cannot be recorded; it heals by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.small_disk import fill, mount, mounted
from faults.stage import Stage, staged

HEALED_WITHIN = 5.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Forty megabytes, room for a write-ahead log of full size, of which the test may take all."""
    with mounted(tmp_path / "disk", 40) as disk:
        yield disk


def test_a_full_disk_stops_claims_and_heals(small_disk: Path, tmp_path: Path) -> None:
    async def act() -> None:
        async with staged(small_disk / "store.db", tmp_path) as stage:
            await stage.start()
            await stage.until(lambda: len(stage.notes("finish")) > 10, 15)
            for _ in range(2):
                await _fill_and_free(stage, small_disk)
            await stage.wait(4)
            await stage.stop()
            report, history = await stage.judge()
            assert report.is_clean, f"{report}\n{stage.log[-2000:]}"
            rows = {attempt.key for attempt in history.attempts}
            seen = {(line.run_key, line.number) for line in history.witness if "brief" not in line.job}
            assert seen <= rows, "a job ran, and nothing is known of it"

    asyncio.run(act())


async def _fill_and_free(stage: Stage, disk: Path) -> None:
    troubles = len(stage.notes("trouble"))
    rubbish = fill(disk)
    await stage.until(lambda: len(stage.notes("trouble")) > troubles + 2, 10)
    starts = len(stage.notes("start"))
    await stage.wait(1.5)
    fill(disk)
    assert len(stage.notes("start")) - starts <= 1, "it was claimed before the disk was full"
    starts = len(stage.notes("start"))
    rubbish.unlink()
    took = await stage.until(lambda: len(stage.notes("start")) > starts, HEALED_WITHIN)
    assert took < HEALED_WITHIN
    await stage.wait(0.5)


def test_a_read_only_disk_is_refused_and_left_alone(small_disk: Path, tmp_path: Path) -> None:
    """A mounted disk cannot be made read-only under a file that is open, so this is about the next start."""

    async def act() -> None:
        store = small_disk / "store.db"
        async with staged(store, tmp_path) as stage:
            await stage.start()
            await stage.until(lambda: len(stage.notes("finish")) > 5, 15)
            await stage.stop()
            starts, before = len(stage.notes("start")), store.read_bytes()
            assert mount("-o", "remount,ro", str(small_disk)) == 0
            await stage.start()
            # Each start says so, and ends; whoever looks after the node tries again.
            await stage.until(lambda: len(stage.notes("away")) > 1, 15)
            assert stage.notes("away")[-1].facts["error"].startswith("open: SQLite says: ")
            assert len(stage.notes("start")) == starts
            assert store.read_bytes() == before
            assert mount("-o", "remount,rw", str(small_disk)) == 0
            await stage.until(lambda: len(stage.notes("start")) > starts, HEALED_WITHIN)
            await stage.wait(3)
            await stage.stop()
            report, _ = await stage.judge()
            assert report.is_clean, str(report)

    asyncio.run(act())
