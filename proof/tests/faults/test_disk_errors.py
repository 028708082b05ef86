"""R8: a disk that answers with errors, under a program that runs.

What cannot be written is not claimed, what was confirmed is there, and when the disk is well again so are we.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from faults.stage import Stage, staged
from foliot_proof.faults.disk import FAILURES, Failure, NoTraceError, failing_disk, why_not

HEALED_WITHIN = 5.0


@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.parametrize("failure", FAILURES[:2], ids=[failure.words for failure in FAILURES[:2]])
def test_a_failing_disk_stops_claims_and_heals(tmp_path: Path, failure: Failure) -> None:
    async def act() -> None:
        async with staged(tmp_path / "store.db", tmp_path) as stage:
            await stage.start()
            await stage.until(lambda: len(stage.notes("finish")) > 5, 15)
            await fail_and_heal(stage, tmp_path / "store.db", failure)
            await stage.wait(4)
            await stage.stop()
            report, _ = await stage.judge()
            assert report.is_clean, f"{report}\n{stage.log[-2000:]}"

    try:
        asyncio.run(act())
    except NoTraceError as error:
        pytest.skip(str(error))


async def fail_and_heal(stage: Stage, store: Path, failure: Failure) -> None:
    assert stage.host.life is not None
    troubles = len(stage.notes("trouble"))
    async with failing_disk(stage.host.life.pid, store, failure) as bites:
        await stage.until(lambda: len(stage.notes("trouble")) > troubles + 2, 10)
        starts = len(stage.notes("start"))
        await stage.wait(1.5)
        assert len(stage.notes("start")) - starts <= 1, "nothing is claimed that cannot be recorded"
    starts = len(stage.notes("start"))
    await stage.until(lambda: len(stage.notes("start")) > starts, HEALED_WITHIN)
    assert bites.count > 0
