"""Nodes: who works on a store is shown as it is. For stores that tell it."""

# ruff: noqa: S101 - cases of a test suite: they assert

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from foliot.model.state import Node
from foliot.model.view import NodeView
from foliot.protocols import NodeStore
from foliot.testing.contract.sample import HOUR, MINUTE, SECOND, lose, some_jobs
from foliot.testing.contract.stage import Contract, Stage, scenario

ZERO = timedelta(0)


async def nodes_of(stage: Stage) -> tuple[NodeView, ...]:
    """What the store tells, by its other seam."""
    store: Any = stage.store
    return await cast("NodeStore", store).nodes()


async def outages_of(stage: Stage) -> list[tuple[timedelta, timedelta]]:
    """The outages that the store tells of, each by how long ago it began and ended."""
    store: Any = stage.store
    found = await cast("NodeStore", store).outages()
    return [(stage.now - outage.first, stage.now - outage.last) for outage in found]


class NodeContract(Contract):
    """A node is shown from its joining to its burial, with what it serves and what it holds."""

    @scenario
    async def test_a_store_without_nodes_shows_none(self, stage: Stage) -> None:
        assert await nodes_of(stage) == ()

    @scenario
    async def test_the_time_that_is_told_is_the_one_that_leases_go_by(self, stage: Stage) -> None:
        lease = await stage.join("a")
        store: Any = stage.store
        assert await cast("NodeStore", store).now() == lease.store_now == stage.now

    @scenario
    async def test_nodes_are_shown_as_they_joined_in_the_order_of_their_ids(self, stage: Stage) -> None:
        nodes = [
            Node(
                "b",
                "second",
                ("default", "slow"),
                ("python:a", "python:b"),
                "1.2",
                skew=timedelta(seconds=-3, microseconds=1),
                host="web-1.größe",
                process=2**22,
                is_draining=True,
                limits=(("db", 1), ("größe", 20)),
                slots=(("default", 1000), ("slow", 2)),
            ),
            Node("a", "first", ("größe",), None, ""),
        ]
        leases = [await stage.store.join(node) for node in nodes]
        shown = [
            NodeView(node, lease.until, 0)
            for node, lease in zip(reversed(nodes), reversed(leases), strict=True)
        ]
        assert list(await nodes_of(stage)) == shown

    @scenario
    async def test_joining_again_changes_what_is_shown(self, stage: Stage) -> None:
        await stage.join("a", kinds=("one",))
        lease = await stage.join("a", kinds=("one", "two"))
        assert await nodes_of(stage) == (NodeView(Node("a", kinds=("one", "two")), lease.until, 0),)

    @scenario
    async def test_a_node_that_drains_is_shown_so_and_lives_on(self, stage: Stage) -> None:
        await stage.join("a", host="web-1", process=7)
        lease = await stage.join("a", host="web-1", process=7, is_draining=True)
        assert lease.until > stage.now
        node = Node("a", host="web-1", process=7, is_draining=True)
        assert await nodes_of(stage) == (NodeView(node, lease.until, 0),)
        renewed = await stage.store.renew("a")
        assert await nodes_of(stage) == (NodeView(node, renewed.until, 0),)

    @scenario
    async def test_what_a_node_said_is_forgotten_with_it(self, stage: Stage) -> None:
        await stage.join("a", host="web-1", process=7)
        await stage.join("b")
        await stage.bury("a")
        await stage.join("c")
        assert [(view.node.id, view.node.host) for view in await nodes_of(stage)] == [("b", ""), ("c", "")]

    @scenario
    async def test_what_a_node_holds_is_counted(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(*some_jobs(3))
        attempts = await stage.claim_all("a")
        await stage.finish("a", attempts[0])
        assert [(view.node.id, view.open_count) for view in await nodes_of(stage)] == [("a", 2), ("b", 0)]

    @scenario
    async def test_a_lease_that_has_run_out_is_shown_until_the_burial(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.die("a")
        silent, alive = await nodes_of(stage)
        assert silent.until < stage.now <= alive.until
        await stage.recover()
        assert [view.node.id for view in await nodes_of(stage)] == ["b"]

    @scenario
    async def test_who_has_left_is_not_shown(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.store.leave("a")
        assert [view.node.id for view in await nodes_of(stage)] == ["b"]

    @scenario
    async def test_who_buries_learns_whom_as_it_was(self, stage: Stage) -> None:
        await stage.join("a", "b", host="web-1", process=7)
        await stage.join("c")
        await stage.declare(*some_jobs(3))
        await stage.claim_all("a")
        await stage.die("a")
        before = [view for view in await nodes_of(stage) if view.node.id == "a"]
        recovered = await stage.store.recover(2, stage.now, lose)
        assert list(recovered.buried) == before
        assert (before[0].open_count, before[0].node.host) == (3, "web-1")
        assert (len(recovered.events), recovered.more) == (2, True)

    @scenario
    async def test_a_burial_is_told_once_and_leaving_is_none(self, stage: Stage) -> None:
        await stage.join("a", "b", "c")
        await stage.declare(*some_jobs(3))
        await stage.claim_all("a")
        await stage.store.leave("b")
        await stage.die("a")
        answers = [await stage.store.recover(1, stage.now, lose) for _ in range(4)]
        assert [[dead.node.id for dead in answer.buried] for answer in answers] == [["a"], [], [], []]

    @scenario
    async def test_an_outage_lasts_from_a_leave_to_the_next_join(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.advance(SECOND)
        await stage.store.leave("a")
        await stage.clock.advance(HOUR)
        assert await outages_of(stage) == []
        await stage.join("b")
        await stage.join("c")
        assert await outages_of(stage) == [(HOUR, ZERO)]

    @scenario
    async def test_an_outage_lasts_from_the_last_heartbeat_of_one_that_died(self, stage: Stage) -> None:
        await stage.join("early", "late")
        await stage.clock.advance(SECOND)
        await stage.store.renew("late")
        await stage.clock.advance(HOUR)
        await stage.join("heir")
        await stage.recover()
        await stage.recover()
        assert await outages_of(stage) == [(HOUR, ZERO)]

    @scenario
    async def test_an_outage_ends_with_a_heartbeat_that_comes_too_late(self, stage: Stage) -> None:
        await stage.join("sleeps")
        await stage.clock.advance(HOUR)
        await stage.store.renew("sleeps")
        await stage.clock.advance(SECOND)
        await stage.store.renew("sleeps")
        assert await outages_of(stage) == [(HOUR + SECOND, SECOND)]

    @scenario
    async def test_while_one_node_lives_there_is_no_outage(self, stage: Stage) -> None:
        await stage.join("stays", "goes")
        await stage.advance(SECOND)
        await stage.store.leave("goes")
        await stage.advance(SECOND)
        await stage.join("comes")
        await stage.advance(SECOND)
        await stage.store.leave("stays")
        await stage.advance(SECOND)
        await stage.join("last")
        assert await outages_of(stage) == []

    @scenario
    async def test_outages_are_told_newest_first(self, stage: Stage) -> None:
        for node in ("a", "b", "c"):
            await stage.join(node)
            await stage.store.leave(node)
            await stage.clock.advance(MINUTE)
        assert await outages_of(stage) == [(2 * MINUTE, MINUTE), (3 * MINUTE, 2 * MINUTE)]
