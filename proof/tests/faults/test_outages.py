"""R6: however long nobody was there, each job catches up once, and for the latest occurrence."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from foliot.app import Foliot
from foliot.clock import SystemClock
from foliot.model.attempt import Attempt, Trigger
from foliot.schedules import Cron

START = datetime(2026, 3, 1, 12, 0, 10, tzinfo=UTC)  # a Sunday; Berlin's clocks change on the 29th
RULES = {
    "minute": ("* * * * *", "UTC"),
    "quarter": ("*/15 * * * *", "Asia/Kathmandu"),
    "daily": ("30 2 * * *", "Europe/Berlin"),
    "weekly": ("0 9 * * MON", "America/New_York"),
    "yearly": ("0 0 1 1 *", "UTC"),
}


class LaterClock(SystemClock):
    """It goes as fast as any, from an instant of its own on."""

    def __init__(self, start: datetime) -> None:
        self._start, self._then = start, self.monotonic()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic() - self._then)


def application(store: Path, start: datetime) -> Foliot:
    app = Foliot(f"sqlite:///{store}", clock=LaterClock(start), lease="3s", poll="100ms")
    for name, (rule, zone) in RULES.items():

        async def nothing() -> None:
            pass

        app.job(rule, name=name, timezone=zone)(nothing)
    return app


async def live(app: Foliot, wanted: int) -> Sequence[Attempt]:
    """Let it run until so many runs have ended, and a while longer, to see whether there are more."""
    clock = SystemClock()
    async with app:
        for _ in range(100):
            await clock.wait(timedelta(milliseconds=50))
            found = await app.history(limit=1000)
            if sum(not attempt.is_open for attempt in found) >= wanted:
                break
        await clock.wait(timedelta(milliseconds=400))
        return await app.history(limit=1000)


@pytest.mark.parametrize(
    "outage",
    [
        timedelta(minutes=1), timedelta(minutes=59), timedelta(hours=8), timedelta(days=1),
        timedelta(days=29), timedelta(days=180), timedelta(days=400),
    ],
    ids=str,
)  # fmt: skip
def test_an_outage_is_caught_up_once(tmp_path: Path, outage: timedelta) -> None:
    store, back_at = tmp_path / "jobs.db", START + outage
    schedules = {name: Cron(rule, timezone=zone) for name, (rule, zone) in RULES.items()}
    due = [name for name, rule in schedules.items() if (rule.previous(back_at) or START) > START]
    asyncio.run(live(application(store, START), 0))
    attempts = asyncio.run(live(application(store, back_at), len(due)))
    assert sorted(attempt.job for attempt in attempts) == sorted(f"app/{name}" for name in due)
    for attempt in attempts:
        rule = schedules[attempt.job.removeprefix("app/")]
        following = rule.next_after(attempt.scheduled_for)
        assert following is not None
        assert following > back_at, "it is for the latest of them"
        first = rule.next_after(START)
        assert (attempt.covers_from or attempt.scheduled_for) == first, "and stands for all of them"
        is_late = back_at - attempt.scheduled_for > timedelta(minutes=1)
        assert attempt.trigger is (Trigger.CATCH_UP if is_late else Trigger.SCHEDULE)
