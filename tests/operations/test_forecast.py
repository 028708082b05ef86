"""How many occurrences come: the same as a walk through all of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from foliot.operations.forecast import Bucket, forecast
from foliot.operations.rule_count import count_rules
from foliot.schedules import Cron, Every
from operations.desk import HOUR, HOURLY, Desk, at
from operations.scene import scenario

RULES = (Cron("*/7 * * * *"), Cron("30 2 * * *", timezone="Europe/Berlin"), Every("11m"), Cron("0 9 * * *"))


@scenario
async def test_counts_are_those_of_a_walk_through_the_night_of_a_clock_change(desk: Desk) -> None:
    jobs = [
        replace(HOURLY, source="many", name=f"{n}", schedule=rule) for n, rule in enumerate((*RULES, *RULES))
    ]
    await desk.declare(*jobs)
    first, last = datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 30, 0, 30, tzinfo=UTC)
    found = await forecast(await count_rules(desk.store, "many"), first, last, HOUR, "Europe/Berlin")
    walked = []
    begin = first
    while begin < last:
        end = min(begin + HOUR, last)
        hits = 0
        for job in jobs:
            following = job.schedule.next_after(begin - timedelta(microseconds=1))
            while following is not None and following < end:
                hits += 1
                following = job.schedule.next_after(following)
        walked.append(Bucket(begin, hits))
        begin += HOUR
    assert found.buckets == tuple(walked)
    assert found.peaks[0].occurrences == max(bucket.occurrences for bucket in walked)
    assert [(one.before, one.after) for one in found.changes] == [(60, 120)]
    assert (found.jobs, found.is_partial) == (8, False)


@scenario
async def test_what_does_not_run_is_not_counted(desk: Desk) -> None:
    await desk.declare(
        replace(HOURLY, source="many", name="off", enabled=False),
        replace(HOURLY, source="many", name="paused"),
        replace(HOURLY, source="many", name="until", repeat_until=at(8)),
    )
    await desk.ops.pause("many/paused")
    found = await forecast(await count_rules(desk.store, "many"), at(7), at(12), HOUR, "UTC")
    assert [bucket.occurrences for bucket in found.buckets] == [1, 1, 0, 0, 0]


@scenario
async def test_a_forecast_of_too_many_rules_counts_the_commonest_and_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foliot.operations.forecast._MOST_COUNTED", 1)
    often = [replace(HOURLY, source="many", name=f"{n}", schedule=Cron("0 * * * *")) for n in range(2)]
    await desk.declare(*often, replace(HOURLY, source="many", name="once", schedule=Cron("5 * * * *")))
    found = await forecast(await count_rules(desk.store, "many"), at(9), at(10), HOUR, "UTC")
    assert found.is_partial
    assert [bucket.occurrences for bucket in found.buckets] == [2]


@scenario
async def test_rules_are_counted_portion_by_portion_and_only_of_jobs_that_are_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foliot.operations.rule_count._PORTION", 2)
    monkeypatch.setattr("foliot.operations.rule_count._PAGE", 2)
    often = [replace(HOURLY, source="many", name=f"{n}", schedule=Cron("0 * * * *")) for n in range(5)]
    off = replace(HOURLY, source="many", name="off", enabled=False)
    other = replace(HOURLY, source="other", name="daily", schedule=Cron("0 4 * * *"))
    await desk.declare(*often, off)
    await desk.declare(other)
    await desk.ops.pause("many/3")
    found = await count_rules(desk.store, "many", "other")
    assert not found.is_partial
    assert {str(rule.schedule): count for rule, count in found.counts.items()} == {
        str(often[0].schedule): 4,
        str(other.schedule): 1,
    }
