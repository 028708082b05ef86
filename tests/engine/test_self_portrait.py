"""What a node tells of itself, and of those whom it buries: what an operator sees."""

from __future__ import annotations

import os
import socket
from typing import Any

from engine.stage import LEASE, MINUTE, SECOND, Stage, Watch, job, staged
from foliot.errors import StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.protocols import Traits


async def _drains(stage: Stage) -> list[bool]:
    return [view.node.is_draining for view in await stage.store.nodes()]


@staged
async def test_a_node_says_where_it_runs(stage: Stage) -> None:
    await stage.start()
    (view,) = await stage.store.nodes()
    assert (view.node.host, view.node.process) == (socket.gethostname(), os.getpid())
    assert view.node.version == "1.2.3"
    assert [queue for queue, _ in view.node.slots] == list(view.node.queues)


@staged
async def test_a_node_that_drains_says_so_with_its_next_heartbeat_until_it_leaves(stage: Stage) -> None:
    stage.takes = 2 * MINUTE
    await stage.declare(job(rule="1 0 * * *"))
    engine = await stage.start(drain=5 * MINUTE)
    await stage.clock.advance(MINUTE + SECOND)
    assert await _drains(stage) == [False]

    engine.stop()
    await stage.clock.advance(LEASE / 3)
    assert await _drains(stage) == [True]

    await stage.clock.advance(MINUTE)
    assert await _drains(stage) == [True]
    await stage.clock.advance(MINUTE)
    assert await _drains(stage) == []
    assert [a.outcome for a in await stage.runs()] == [Outcome.SUCCEEDED]


@staged
async def test_a_node_that_drains_while_the_store_is_away_says_so_when_it_is_back(stage: Stage) -> None:
    stage.takes = 2 * MINUTE
    await stage.declare(job(rule="1 0 * * *"))
    store: Any = _Deaf(stage)
    engine = await stage.start(store, drain=5 * MINUTE)
    await stage.clock.advance(MINUTE + SECOND)

    store.is_away = True
    engine.stop()
    await stage.clock.advance(LEASE / 2)
    assert await _drains(stage) == [False]
    store.is_away = False
    await stage.clock.advance(2 * SECOND)
    assert await _drains(stage) == [True]


@staged
async def test_an_idle_node_leaves_at_once_and_asks_no_more_than_before(stage: Stage) -> None:
    store: Any = _Deaf(stage)
    engine = await stage.start(store)
    await stage.clock.advance(SECOND)
    engine.stop()
    await stage.clock.settle()
    assert (await _drains(stage), store.joins) == ([], 1)


@staged
async def test_monitors_are_told_whom_a_node_has_buried(stage: Stage) -> None:
    stage.takes = 10 * MINUTE
    await stage.declare(job(rule="1 0 * * *"), job("b", rule="1 0 * * *"))
    doomed = await stage.start()
    await stage.clock.advance(MINUTE + SECOND)
    await stage.kill_all()

    watch = Watch()
    heir = await stage.start(monitors=(watch,))
    await stage.clock.advance(2 * LEASE)

    ((by, dead),) = watch.burials
    assert (by, dead.node.id, dead.open_count) == (heir.node, doomed.node, 2)
    assert dead.node.process == os.getpid()


class _Deaf:
    """A store that does not answer while it is away."""

    def __init__(self, stage: Stage) -> None:
        self._store = stage.store
        self.traits = Traits()
        self.is_away = False
        self.joins = 0

    def __getattr__(self, verb: str) -> Any:
        async def ask(*arguments: Any, **options: Any) -> Any:
            self.joins += verb == "join"
            if self.is_away:
                raise StoreUnavailableError(verb, "away")
            return await getattr(self._store, verb)(*arguments, **options)

        return ask
