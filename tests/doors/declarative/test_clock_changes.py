"""A scheduler that runs on while the clocks are changed: by an injected clock, in the host's zone."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from doors.declarative.scene import DAY, MINUTE, SECOND, Stage, staged

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture(autouse=True)
def berlin(zone: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - after the usual one
    monkeypatch.setenv("TZ", "Europe/Berlin")


def local(stage: Stage, name: str) -> list[str]:
    return [f"{at.astimezone(BERLIN):%d %H:%M %Z}" for task, at in stage.starts if task == name]


@pytest.mark.req("DECL-08", "DECL-41")
def test_when_the_clocks_spring_forward_the_lost_minute_does_not_run(stage: Stage) -> None:
    @staged
    async def play(stage: Stage) -> None:
        await stage.started(
            stage.task("lost", "30 2 * * *"),
            stage.task("before", "59 1 * * *"),
            stage.task("after", "0 3 * * *"),
        )
        await stage.passes(5 * MINUTE)
        assert local(stage, "before") == ["29 01:59 CET"]
        assert local(stage, "after") == ["29 03:00 CEST"]
        assert local(stage, "lost") == []

    stage.at(datetime(2026, 3, 29, 1, 58, tzinfo=BERLIN))
    play(stage)


@pytest.mark.req("DECL-08", "DECL-10")
def test_the_next_day_it_runs_again(stage: Stage) -> None:
    @staged
    async def play(stage: Stage) -> None:
        scheduler = await stage.started(stage.task(cron="30 2 * * *"))
        await stage.passes(MINUTE)
        await scheduler.stop()
        assert local(stage, "a") == ["28 02:30 CET"]
        await stage.passes(2 * DAY - timedelta(hours=1) - 2 * MINUTE)
        await scheduler.initialize([stage.task(cron="30 2 * * *")])
        assert len(stage.starts) == 1  # nothing was missed on the 29th: that minute did not exist
        await stage.passes(2 * MINUTE)
        assert local(stage, "a") == ["28 02:30 CET", "30 02:30 CEST"]

    stage.at(datetime(2026, 3, 28, 2, 30, tzinfo=BERLIN))
    play(stage)


@pytest.mark.prove
@pytest.mark.req("DECL-09", "DECL-41")
def test_when_the_clocks_fall_back_the_minute_that_comes_twice_runs_twice(stage: Stage) -> None:
    @staged
    async def play(stage: Stage) -> None:
        await stage.started(stage.task("twice", "30 2 * * *"), stage.task("once", "31 3 * * *"))
        await stage.passes(timedelta(hours=2, minutes=3))
        assert local(stage, "twice") == ["25 02:30 CEST", "25 02:30 CET"]
        assert local(stage, "once") == ["25 03:31 CET"]

    stage.at(datetime(2026, 10, 25, 2, 29, tzinfo=BERLIN))
    play(stage)


@pytest.mark.req("DECL-10")
def test_a_leap_day_is_met_and_what_was_missed_for_years_is_one_run(stage: Stage) -> None:
    @staged
    async def play(stage: Stage) -> None:
        registration = stage.task(cron="0 0 29 2 *")
        scheduler = await stage.started(registration)
        await stage.passes(SECOND)
        await scheduler.stop()
        await stage.passes(timedelta(days=3 * 365))
        await scheduler.initialize([registration])
        await stage.clock.settle()
        assert local(stage, "a") == ["29 00:00 CET"]
        await scheduler.stop()
        await stage.passes(timedelta(days=6 * 365))
        await scheduler.initialize([registration])
        await stage.clock.settle()
        assert len(stage.starts) == 2

    stage.at(datetime(2028, 2, 29, tzinfo=BERLIN))
    play(stage)
