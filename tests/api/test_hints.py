"""Hints: what a watcher is told of this process, of other nodes, and if it reads too slowly."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta

import pytest

from foliot.api.hints import Batch, Hint, Hub, Subscription, Watcher, read_log_topic
from foliot.api.ids import id_of
from foliot.model.attempt import Outcome
from foliot.model.output import OutputPart
from operations.desk import Desk, at
from operations.scene import scenario

SECOND = timedelta(seconds=1)
ALL = Subscription(frozenset(), None)


async def nobody_waits() -> None:
    """No engine is here that might go first."""


def taken(watcher: Watcher) -> list[Hint]:
    """The hints that a watcher has been given."""
    return [hint for batch in watcher.take() for hint in batch.hints]


@scenario
async def test_what_other_nodes_do_is_found_by_looking_while_somebody_watches(desk: Desk) -> None:
    hub = Hub(desk.ops, desk.clock, nobody_waits)
    with hub.watching(["job:shop~2Fhourly"], None) as watcher:
        await desk.clock.advance(SECOND)
        assert taken(watcher) == []
        await desk.advance(at(7))
        [attempt] = await desk.claim()
        await desk.clock.advance(SECOND)
        [hint] = taken(watcher)
        assert (hint.topic, hint.source, hint.token) == ("job:shop~2Fhourly", "shop", attempt.token)
        await desk.finish(attempt, Outcome.FAILED)
        await desk.clock.advance(SECOND)
        assert [one.topic for one in taken(watcher)] == ["job:shop~2Fhourly"]
    await hub.close()


@scenario
async def test_events_of_this_process_are_told_at_once_and_only_of_sources_that_may_be_seen(
    desk: Desk,
) -> None:
    hub = Hub(desk.ops, desk.clock, nobody_waits)
    with (
        hub.watching([], ["shop"]) as mine,
        hub.watching([], ["other"]) as others,
        hub.watching([], None) as everybody,
    ):
        await desk.ops.trigger("hourly", request="a")
        hub.note(desk.told[-1])
        await hub.send()
        assert [one.topic for one in taken(mine)] == ["job:shop~2Fhourly", "run:shop~2Fhourly~21a"]
        assert taken(others) == []
        assert [one.topic for one in taken(everybody)][-1] == "overview", "it is about all sources"
    await hub.close()


@scenario
async def test_a_log_that_is_watched_by_name_is_told_when_it_grows(desk: Desk) -> None:
    await desk.advance(at(7))
    [attempt] = await desk.claim()
    topic = f"log:{id_of(attempt.run_key)}/1"
    hub = Hub(desk.ops, desk.clock, nobody_waits)
    with hub.watching([topic], ["shop"]) as watcher, hub.watching([topic], ["other"]) as other:
        for start, text in ((0, "one\n"), (4, "two\n")):
            await desk.ops.store.append_outputs([OutputPart(attempt.job, *attempt.key, start, text)])
            await desk.clock.advance(SECOND)
            assert taken(watcher) == [Hint(topic, "shop")]
            await desk.clock.advance(SECOND)
            assert taken(watcher) == []
        assert taken(other) == []
    await hub.close()


@pytest.mark.parametrize(
    "topic", ["log:a", "log:a/", "log:a/x", "log:a/-1", "log:a/²", "log:a b/1", "log:/1", "a/1"]
)
def test_a_topic_of_a_log_has_a_run_and_a_number(topic: str) -> None:
    assert read_log_topic(topic) is None
    assert read_log_topic("log:shop~2Fa~21b/12") == ("shop/a!b", 12)


@scenario
async def test_what_comes_soon_after_is_sent_together_and_each_topic_once(desk: Desk) -> None:
    hub = Hub(desk.ops, desk.clock, nobody_waits)
    await desk.ops.trigger("hourly", request="a")
    event = desk.told[-1]
    with hub.watching([], None) as one, hub.watching([], None) as two:
        hub.note(event)
        await one.news.wait()
        [first] = one.take()
        assert first is two.take()[0], "it is made and encoded once"
        assert first.text.count(b"event: changed") == 3
        for _ in range(50):
            hub.note(event)
        await desk.clock.advance(timedelta(milliseconds=100))
        assert (one.take(), one.news.is_set()) == ([], False)
        await desk.clock.advance(timedelta(milliseconds=100))
        await one.news.wait()
        [second] = one.take()
        assert second.text == first.text
    await hub.close()


@scenario
async def test_many_watchers_are_told_a_few_at_a_time(desk: Desk) -> None:
    """All at once, they would keep an engine of the same process waiting."""
    hub = Hub(desk.ops, desk.clock, nobody_waits)
    with ExitStack() as stack:
        watchers = [stack.enter_context(hub.watching([], None)) for _ in range(40)]
        await desk.ops.trigger("hourly", request="a")
        hub.note(desk.told[-1])
        told = []
        for _ in range(4):
            await desk.clock.advance(SECOND / 32)
            told.append(sum(watcher.news.is_set() for watcher in watchers))
        assert told == sorted(told)
        assert 0 < told[0] < told[-1] == 40, told
    await hub.close()


@scenario
async def test_what_an_event_has_told_the_poller_does_not_tell_again(desk: Desk) -> None:
    hub = Hub(desk.ops, desk.clock, nobody_waits)
    with hub.watching([], None) as watcher:
        await desk.clock.advance(SECOND)
        await desk.ops.trigger("hourly", request="a")
        hub.note(desk.told[-1])
        await watcher.news.wait()
        assert next(one.topic for one in taken(watcher)) == "job:shop~2Fhourly"
        for _ in range(3):
            await desk.clock.advance(SECOND)
        assert taken(watcher) == []
        await desk.ops.trigger("hourly", request="b")  # by another process
        await desk.clock.advance(SECOND)
        await watcher.news.wait()
        assert "run:shop~2Fhourly~21b" in [one.topic for one in taken(watcher)]
    await hub.close()


@scenario
async def test_many_changes_at_a_time_are_told_as_one(desk: Desk) -> None:
    del desk
    few, many = Batch([Hint(f"job:{n}") for n in range(200)]), Batch([Hint(f"job:{n}") for n in range(201)])
    assert (few.is_resync, few.text.count(b"event: changed")) == (False, 200)
    assert (many.is_resync, many.text) == (True, b"event: resync\ndata: {}\n\n")


@scenario
async def test_a_watcher_that_reads_too_slowly_looks_at_everything_anew(desk: Desk) -> None:
    del desk
    watcher = Watcher(ALL)
    for number in range(6):
        watcher.give(Batch([Hint(f"job:{number}")]))
    assert [batch.is_resync for batch in watcher.take()] == [True]
    watcher.give(Batch([Hint("jobs")]))
    assert [one.topic for one in taken(watcher)] == ["jobs"]


@scenario
async def test_a_hub_works_on_for_who_comes_after_the_last_one_has_left(desk: Desk) -> None:
    hub = Hub(desk.ops, desk.clock, nobody_waits)
    await desk.ops.trigger("hourly", request="a")
    for _ in range(3):
        with hub.watching([], None) as watcher:
            hub.note(desk.told[-1])
            await desk.clock.advance(SECOND)
            await watcher.news.wait()
            assert taken(watcher)
    await hub.close()
