"""The very first start, when the file is made: killed at any moment, the next start goes on from there."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from random import Random

from faults.stage import Stage, staged
from foliot_proof.faults.node import Orders
from foliot_proof.stores import kind_of

FILES = 15
KILLS = 3


def test_a_first_start_that_is_killed_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    async def act() -> None:
        chance = Random("births")  # noqa: S311 - chance that can be repeated
        async with staged(tmp_path / "unused.db", tmp_path) as stage:
            for number in range(FILES):
                await _be_born(stage, f"sqlite:///{tmp_path}/store-{number}.db", chance)

    asyncio.run(act())


async def _be_born(stage: Stage, url: str, chance: Random) -> None:
    orders = Orders(url=url, host="host-0", witness_log=str(stage.folder / "witness_log.jsonl"))
    for _ in range(KILLS):
        await stage.host.start(orders)
        await stage.wait(chance.uniform(0, 0.06))
        await stage.host.kill()
    starts = len(stage.notes("start"))
    await stage.host.start(replace(orders, seed=1))
    await stage.until(lambda: len(stage.notes("start")) > starts, 5)
    await stage.host.kill()
    assert [p for p in kind_of(url).problems(url) if not p.startswith("left behind")] == []
