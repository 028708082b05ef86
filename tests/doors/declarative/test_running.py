"""When tasks run: at first, by the minute, after a failure, beside each other."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from doors.declarative.scene import HOUR, MINUTE, NOON, SECOND, Stage, staged
from foliot.doors.declarative import Scheduler, TaskRunStarted
from foliot.observability import Metrics


@pytest.mark.req("DECL-11")
@pytest.mark.parametrize("second", [0, 1, 59])
@pytest.mark.parametrize(
    ("cron", "at_once"), [("0 12 * * *", True), ("1 12 * * *", False), ("59 11 * * *", False)]
)
def test_a_first_start_runs_at_once_only_if_the_present_minute_matches(
    stage: Stage, cron: str, second: int, *, at_once: bool
) -> None:
    @staged
    async def play(stage: Stage) -> None:
        await stage.started(stage.task(cron=cron))
        assert stage.starts == ([("a", stage.clock.now())] if at_once else [])
        await stage.passes(2 * MINUTE)
        assert len(stage.starts) == (0 if cron.startswith("59") else 1)

    stage.at(NOON + second * SECOND)
    play(stage)


@pytest.mark.req("DECL-07", "DECL-14")
@staged
async def test_minutes_begin_at_their_second_0_and_each_runs_once(stage: Stage) -> None:
    stage.clock._now += 30 * SECOND
    scheduler = await stage.started(stage.task())
    for _ in range(3):  # restarts within the minute make no second run
        await scheduler.stop()
        await scheduler.initialize([stage.task()])
        await stage.passes(5 * SECOND)
    await stage.passes(3 * MINUTE)
    assert stage.times() == ["12:00:30", "12:01", "12:02", "12:03"]


@pytest.mark.req("DECL-07")
def test_time_is_that_of_the_hosts_zone(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    @staged
    async def play(stage: Stage) -> None:
        await stage.started(stage.task(cron="31 17 * * *"))
        await stage.passes(2 * MINUTE)
        assert stage.times() == ["12:01"]
        assert (await stage.stored()).timezone == "Asia/Kolkata"

    monkeypatch.setenv("TZ", "Asia/Kolkata")
    play(stage)


@pytest.mark.req("DECL-15", "DECL-17")
@staged
async def test_a_failure_is_retried_after_its_delay_until_it_succeeds(stage: Stage) -> None:
    stage.failing.add("a")
    stage.takes["a"] = 10 * SECOND
    await stage.started(stage.task(cron="0 * * * *", delay=5 * MINUTE))
    await stage.passes(20 * SECOND)
    task = await stage.stored()
    assert (task.state, task.pending_retry_until) == ("awaiting_retry", NOON + 5 * MINUTE + 10 * SECOND)
    await stage.passes(10 * MINUTE)
    stage.failing.clear()
    await stage.passes(40 * MINUTE)
    assert stage.times() == ["12:00", "12:05:10", "12:10:20"]
    task = await stage.stored()
    assert (task.state, task.pending_retry_until) == ("awaiting_run", None)
    assert stage.of_tasks()[-2:] == ["TaskRetryStarted", "TaskRunCompleted"]


@pytest.mark.req("DECL-15")
@staged
async def test_a_delay_of_zero_is_spaced_by_a_second(stage: Stage) -> None:
    stage.failing.add("a")
    await stage.started(stage.task(cron="0 * * * *", delay=timedelta(0)))
    await stage.passes(3 * SECOND)
    assert stage.times() == ["12:00", "12:00:01", "12:00:02", "12:00:03"]


@pytest.mark.req("DECL-16")
@pytest.mark.parametrize("delay", [MINUTE, 90 * SECOND, 10 * MINUTE], ids=["together", "later", "much later"])
def test_a_new_occurrence_takes_the_place_of_a_retry(stage: Stage, delay: timedelta) -> None:
    @staged
    async def play(stage: Stage) -> None:
        stage.failing.add("a")
        await stage.started(stage.task(delay=delay))
        stage.failing.clear()
        await stage.passes(MINUTE)
        assert stage.times() == ["12:00", "12:01"]
        preempted = [
            "TaskRunStarted",
            "TaskRunFailed",
            "TaskRetryPreempted",
            "TaskRunStarted",
            "TaskRunCompleted",
        ]
        assert stage.of_tasks() == preempted
        await stage.passes(50 * SECOND)
        assert len(stage.starts) == 2
        assert (await stage.stored()).pending_retry_until is None

    play(stage)


@pytest.mark.req("DECL-22")
@staged
async def test_tasks_run_beside_each_other_and_never_beside_themselves(stage: Stage) -> None:
    names = [f"task-{number}" for number in range(20)]
    stage.takes = dict.fromkeys(names, 150 * SECOND)
    await stage.started(*map(stage.task, names))
    assert sum(stage.running.values()) == 20
    await stage.passes(10 * MINUTE)
    assert max(stage.most.values()) == 1
    # An occurrence that passes during a run gives exactly one follow-up, at once.
    assert stage.times("task-7") == ["12:00", "12:02:30", "12:05", "12:07:30", "12:10"]


@pytest.mark.req("DECL-16")
@staged
async def test_an_occurrence_during_a_run_that_fails_is_met_at_once(stage: Stage) -> None:
    stage.takes["a"], stage.failing = 90 * SECOND, {"a"}
    await stage.started(stage.task(delay=10 * SECOND))
    await stage.passes(3 * MINUTE)
    assert stage.times() == ["12:00", "12:01:30", "12:03"]
    assert "TaskRetryStarted" not in stage.of_tasks()


@pytest.mark.req("DECL-23")
@staged
async def test_a_failure_touches_no_other_task(stage: Stage) -> None:
    stage.failing.add("bad")
    await stage.started(stage.task("bad", delay=SECOND), stage.task("good"))
    await stage.passes(5 * MINUTE)
    assert stage.times("good") == ["12:00", "12:01", "12:02", "12:03", "12:04", "12:05"]
    assert len(stage.times("bad")) > 200


@pytest.mark.req("DECL-32")
@staged
async def test_a_first_start_within_its_minute_is_not_called_late(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.passes(45 * SECOND)
    await stage.started(stage.task(cron="0 * * * *"))
    assert stage.times() == ["12:00:45"]
    assert "start_late" not in caplog.text


@pytest.mark.req("DECL-32")
@staged
async def test_a_late_start_is_seen_in_events_log_and_metrics(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    metrics, registration = Metrics(), stage.task(cron="0 * * * *")
    scheduler = Scheduler(stage.store, clock=stage.clock, listeners=[stage.told.append, metrics])
    await scheduler.initialize([registration])
    await stage.passes(SECOND)
    await scheduler.stop()
    await stage.passes(HOUR + 5 * MINUTE)
    await scheduler.initialize([registration])
    await stage.clock.settle()
    started = [event for event in stage.told if isinstance(event, TaskRunStarted)]
    assert [event.lateness for event in started] == [timedelta(0), 5 * MINUTE + SECOND]
    lines: list[Any] = [record.msg for record in caplog.records]
    (late,) = [line for line in lines if line.event == "start_late"]
    assert (late.fields["run"], late.fields["late"]) == ("declarative/a@2026-03-10T13:00:00Z", 301.0)
    assert re.search(r"foliot_start_lateness_seconds_sum\S* 301", metrics.text().decode())
