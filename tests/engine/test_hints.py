"""Hints of a store: what they bring to a node, and how little they may cost."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import count

from engine.stage import MINUTE, SECOND, Stage, job, staged
from foliot.engine.plan_command import Cancel, RunNow, plan_command
from foliot.model.attempt import Outcome
from foliot.model.state import Lease


class Bell:
    """A store's hints, rung by hand."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self.asked = 0

    def ring(self) -> None:
        self._rung.set()

    async def changed(self) -> None:
        self.asked += 1
        await self._rung.wait()
        self._rung.clear()


@staged
async def test_a_hint_brings_a_cancel_and_new_work_to_the_node_within_a_second(stage: Stage) -> None:
    bell = Bell()
    stage.takes = timedelta(hours=1)
    await stage.declare(job(rule="1 0 * * *"), job("b", rule="0 0 1 1 *"))
    await stage.start(hints=bell)
    await stage.clock.advance(MINUTE + 5 * SECOND)
    key, now = stage.starts[0][1], stage.clock.now()

    await stage.store.update("code/a", lambda record: plan_command(record, Cancel(key), now))
    await stage.store.update("code/b", lambda record: plan_command(record, RunNow("please"), now))
    bell.ring()
    await stage.clock.advance(SECOND)

    assert [start[1] for start in stage.starts[1:]] == ["code/b!please"]
    assert [run.outcome for run in await stage.runs(job="code/a")] == [Outcome.CANCELLED]


@staged
async def test_hints_without_end_cost_no_more_than_a_heartbeat_a_second(stage: Stage) -> None:
    bell, renewed = Bell(), count()
    renew = stage.store.renew

    async def counted(node: str) -> Lease:
        next(renewed)
        return await renew(node)

    stage.store.renew = counted  # type: ignore[method-assign] # to count its calls
    await stage.start(hints=bell)
    for _ in range(100):
        bell.ring()
        await stage.clock.advance(SECOND / 10)

    assert bell.asked > 90
    assert next(renewed) <= 12


@staged
async def test_a_node_says_which_version_it_is(stage: Stage) -> None:
    await stage.start()
    [view] = await stage.store.nodes()
    assert view.node.version == "1.2.3"
