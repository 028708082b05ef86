"""What one node looks at is hidden from others for a moment: no lock, and gone when it is not needed."""

from __future__ import annotations

import pytest

from foliot.model.state import Node
from foliot.stores.redis import RedisStore
from foliot.stores.redis.address import read_address
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, pass_over
from foliot.testing.servers import RedisServer
from stores.redis.playing import declare, play, start

AHEAD, OVER = 2**51, 1  # microseconds of the server's clock


@pytest.mark.parametrize(
    ("nodes", "hold", "started"),
    [
        (("a", "b"), f"{AHEAD} b", 4),
        (("a", "b"), f"{OVER} b", 5),
        (("a", "b"), f"{AHEAD} a", 5),
        (("a", "b"), "nonsense", 5),
        (("a",), f"{AHEAD} b", 5),
    ],
    ids=["another's", "over", "its own", "unreadable", "alone"],
)
def test_a_node_leaves_alone_what_another_has_at_hand(
    url: str, shared: RedisServer, nodes: tuple[str, ...], hold: str, started: int
) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        for node in nodes:
            await store.join(Node(node))
        await declare(store, clock)
        shared.ask("HSET", f"{read_address(url).prefix}:hold", f"{SOURCE}/job-0002", hold)
        runs = await start(store, clock)
        assert len(runs) == started
        assert ("job-0002" in {run.job.name for run in runs}) is (started == 5)

    play(url, act)


def test_nothing_is_hidden_when_a_claim_has_ended(url: str, shared: RedisServer) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        for node in ("a", "b"):
            await store.join(Node(node))
        await declare(store, clock)
        key = f"{read_address(url).prefix}:hold"
        assert await start(store, clock, "passes over", pass_over) == []
        assert shared.ask("HLEN", key) == b":0\r\n"
        assert len(await start(store, clock, "starts")) == 5
        assert shared.ask("HLEN", key) == b":0\r\n"

    play(url, act)
