"""What an attempt writes is read once for all who follow it."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.api.log_reader import LOOK_EVERY, LogReaders
from foliot.model.attempt import Attempt
from foliot.model.output import OutputPart
from operations.desk import Desk, at
from operations.scene import scenario


async def write(desk: Desk, attempt: Attempt, start: int, text: str) -> None:
    await desk.ops.store.append_outputs([OutputPart(attempt.job, *attempt.key, start, text)])


@scenario
async def test_streams_of_one_attempt_share_one_reader_until_its_end(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.advance(at(7))
    [attempt] = await desk.claim()
    await write(desk, attempt, 0, "one\n")
    asked: list[int] = []
    ask = desk.ops.store.output

    async def output(run: str, number: int, after: int = 0) -> Any:
        asked.append(after)
        return await ask(run, number, after)

    monkeypatch.setattr(desk.ops.store, "output", output)
    readers = LogReaders(desk.ops, desk.clock)
    with readers.following(attempt) as first, readers.following(attempt) as second:
        assert first is second
        news = first.news
        await news.wait()
        assert [(await first.since(place)).text for place in (0, 2, 9)] == ["one\n", "e\n", ""]  # type: ignore[union-attr]
        await write(desk, attempt, 4, "two\n")
        news = first.news
        await desk.clock.advance(LOOK_EVERY)
        assert news.is_set()
        assert not first.news.is_set()
        assert asked == [0, 4]
        assert (await first.since(4)).text == "two\n"  # type: ignore[union-attr]
        assert asked == [0, 4]
        assert (await first.since(0)).text == "one\ntwo\n"  # type: ignore[union-attr]  # who is behind asks anew
        assert asked == [0, 4, 0]
        await desk.finish(attempt)
        await desk.clock.advance(LOOK_EVERY)
        assert not first.is_open
    with readers.following(attempt) as third:
        assert third is not first


@scenario
async def test_a_reader_that_no_stream_follows_reads_no_more(desk: Desk) -> None:
    await desk.advance(at(7))
    [attempt] = await desk.claim()
    readers = LogReaders(desk.ops, desk.clock)
    with readers.following(attempt) as reader:
        await desk.clock.advance(LOOK_EVERY)
        with readers.following(attempt):
            pass
        assert not reader._reading.done()
    await desk.clock.advance(LOOK_EVERY)
    assert reader._reading.cancelled()
