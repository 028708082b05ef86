"""When a node claims next: at once if something became due while it looked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from engine.stage import LEASE, MINUTE, Stage, job, staged
from foliot.stores.memory import MemoryStore

MILLISECOND = timedelta(milliseconds=1)


class SlowToLook(MemoryStore):
    """A store that takes a moment to tell what comes next."""

    async def wakes(self, *facts: Any, **more: Any) -> Any:
        found = await super().wakes(*facts, **more)
        await self._clock.wait(2 * MILLISECOND)
        return found


@staged
async def test_a_job_that_becomes_due_while_the_node_looks_for_the_next_is_not_passed_over(
    stage: Stage,
) -> None:
    stage.store = SlowToLook(stage.clock, lease=LEASE)
    await stage.declare(job())
    await stage.clock.advance(MINUTE - MILLISECOND)

    await stage.start()
    await stage.clock.advance(3 * MILLISECOND)

    assert len(stage.starts) == 1
