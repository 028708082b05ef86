"""Hints: what a watcher is told of this process, of other nodes, and if it reads too slowly."""

from __future__ import annotations

from datetime import timedelta

import pytest

from foliot.api.hints import Hint, Hub, Watcher, read_log_topic
from foliot.api.ids import id_of
from foliot.model.attempt import Outcome
from foliot.model.output import OutputPart
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
async def test_a_log_that_is_watched_by_name_is_told_when_it_grows(desk: Desk) -> None:
    await desk.advance(at(7))
    [attempt] = await desk.claim()
    topic = f"log:{id_of(attempt.run_key)}/1"
    hub = Hub(desk.ops, desk.clock)
    with hub.watching([topic], ["shop"]) as watcher, hub.watching([topic], ["other"]) as other:
        for start, text in ((0, "one\n"), (4, "two\n")):
            await desk.ops.store.append_outputs([OutputPart(attempt.job, *attempt.key, start, text)])
            await desk.clock.advance(SECOND)
            assert watcher.take() == [Hint(topic, "shop")]
            await desk.clock.advance(SECOND)
            assert watcher.take() == []
        assert other.take() == []
    await hub.close()


@pytest.mark.parametrize(
    "topic", ["log:a", "log:a/", "log:a/x", "log:a/-1", "log:a/²", "log:a b/1", "log:/1", "a/1"]
)
def test_a_topic_of_a_log_has_a_run_and_a_number(topic: str) -> None:
    assert read_log_topic(topic) is None
    assert read_log_topic("log:shop~2Fa~21b/12") == ("shop/a!b", 12)


@scenario
async def test_a_watcher_that_reads_too_slowly_is_behind(desk: Desk) -> None:
    del desk
    watcher = Watcher([], None)
    for number in range(1001):
        watcher.offer(Hint(f"job:{number}"))
    assert watcher.is_behind
    assert [one.topic for one in watcher.take()] == ["job:1000"]
