"""What one node looks at is hidden from others for a moment: no lock, and gone when it is not needed."""

from __future__ import annotations

import pytest

from foliot.model.state import Node
from foliot.stores.redis import RedisStore
from foliot.stores.redis.address import read_address
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, pass_over
from foliot.testing.servers import RedisServer
from stores.redis.playing import declare, play, server_time, start

AHEAD, OVER, FAR = 4_000_000, -1, 3600_000_000  # microseconds, by the server's clock


@pytest.mark.parametrize(
    ("nodes", "hold", "started"),
    [
        (("a", "b"), (AHEAD, "b"), 4),
        (("a", "b"), (OVER, "b"), 5),
        (("a", "b"), (FAR, "b"), 5),
        (("a", "b"), (AHEAD, "a"), 5),
        (("a",), (AHEAD, "b"), 5),
    ],
    ids=["another's", "over", "the clock was set back", "its own", "alone"],
)
def test_a_node_leaves_alone_what_another_has_at_hand(
    url: str, shared: RedisServer, nodes: tuple[str, ...], hold: tuple[int, str], started: int
) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        for node in nodes:
            await store.join(Node(node))
        await declare(store, clock)
        told = f"{server_time(shared) + hold[0]} {hold[1]}"
        shared.ask("HSET", f"{read_address(url).prefix}:hold", f"{SOURCE}/job-0002", told)
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
