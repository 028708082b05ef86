"""Work beside the engine that fails, again and again."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest

from app.scene import play
from foliot.app.supervision import keep_alive
from foliot.app.thread import LoopThread
from foliot.observability.log import Line
from foliot.testing.clock import ManualClock

MINUTE = timedelta(minutes=1)


def test_the_pauses_grow_up_to_five_minutes_and_begin_anew_after_a_calm_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        clock = ManualClock()
        began: list[float] = []

        async def work() -> None:
            began.append(clock.monotonic())
            if len(began) == 11:
                await clock.wait(MINUTE * 11)
            raise RuntimeError(f"fault {len(began)}")

        life = asyncio.ensure_future(keep_alive("work", work, clock))
        while len(began) < 12:
            await clock.advance(timedelta(seconds=1))
        life.cancel()
        await asyncio.wait([life])
        pauses = [round(after - before) for before, after in pairwise(began)]
        assert pauses[:10] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
        lines = [record.msg.fields for record in caplog.records if isinstance(record.msg, Line)]
        assert [line["again_in"] for line in lines][9:11] == [300, 1]

    play(scene)


def test_work_that_returns_has_done_what_there_was(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async def work() -> None:
            """Nothing."""

        await keep_alive("work", work, ManualClock())
        assert not caplog.records

    play(scene)


def test_a_callback_that_calls_exit_does_not_end_a_thread_that_others_wait_for() -> None:
    async def answer() -> int:
        return 42

    def leave() -> None:
        raise SystemExit(3)

    thread = LoopThread("steady")
    try:
        thread.loop.call_soon_threadsafe(leave)
        assert thread.submit(answer()).result(20) == 42
    finally:
        thread.close()
