"""Hints: what a watcher is told of this process, of other nodes, and if it reads too slowly."""

from __future__ import annotations

from datetime import timedelta

from foliot.api.hints import Hint, Hub, Watcher
from foliot.model.attempt import Outcome
from operations.desk import Desk, at
from operations.scene import scenario

SECOND = timedelta(seconds=1)


@scenario
async def test_what_other_nodes_do_is_found_by_looking_while_somebody_watches(desk: Desk) -> None:
    hub = Hub(desk.ops, desk.clock)
    with hub.watching(["job:shop~2Fhourly"], None) as watcher:
        await desk.clock.advance(SECOND)
        assert watcher.take() == []
        await desk.advance(at(7))
        [attempt] = await desk.claim()
        await desk.clock.advance(SECOND)
        [hint] = watcher.take()
        assert (hint.topic, hint.source, hint.token) == ("job:shop~2Fhourly", "shop", attempt.token)
        await desk.finish(attempt, Outcome.FAILED)
        await desk.clock.advance(SECOND)
        assert [one.topic for one in watcher.take()] == ["job:shop~2Fhourly"]
    await hub.close()


@scenario
async def test_events_of_this_process_are_told_at_once_and_only_of_sources_that_may_be_seen(
    desk: Desk,
) -> None:
    hub = Hub(desk.ops, desk.clock)
    with hub.watching([], ["shop"]) as mine, hub.watching([], ["other"]) as others:
        await desk.ops.trigger("hourly", request="a")
        hub.note(desk.told[-1])
        assert [one.topic for one in mine.take()] == [
            "job:shop~2Fhourly",
            "run:shop~2Fhourly~21a",
            "overview",
        ]
        assert [one.topic for one in others.take()] == ["overview"]
    await hub.close()


@scenario
async def test_a_watcher_that_reads_too_slowly_is_behind(desk: Desk) -> None:
    del desk
    watcher = Watcher([], None)
    for number in range(1001):
        watcher.offer(Hint(f"job:{number}"))
    assert watcher.is_behind
    assert [one.topic for one in watcher.take()] == ["job:1000"]
