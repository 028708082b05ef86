"""The theory of the document, step by step: which debts a task keeps when its registration changes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from doors.declarative.scene import HOUR, MINUTE, SECOND, Stage, staged


@pytest.mark.req("DECL-42")
@staged
async def test_an_id_that_was_removed_and_added_again_forgets_its_debts(stage: Stage) -> None:
    stage.failing.add("a")
    scheduler = await stage.started(stage.task(cron="0 * * * *", delay=2 * MINUTE))
    await scheduler.stop()
    await scheduler.initialize([stage.task("b", "0 0 1 1 *")])
    await stage.passes(MINUTE)
    await scheduler.stop()
    await scheduler.initialize([stage.task(cron="0 * * * *", delay=2 * MINUTE)])
    task = await stage.stored()
    assert (task.last_attempt_at, task.last_failure_at, task.pending_retry_until) == (None, None, None)
    await stage.passes(10 * MINUTE)
    assert len(stage.starts) == 1


@pytest.mark.req("DECL-42")
@staged
async def test_a_change_of_cron_or_delay_keeps_its_debts(stage: Stage) -> None:
    stage.failing.add("a")
    scheduler = await stage.started(stage.task(cron="0 * * * *", delay=2 * MINUTE))
    await scheduler.stop()
    stage.failing.clear()
    await scheduler.initialize([stage.task(cron="59 * * * *", delay=9 * MINUTE)])
    await stage.passes(10 * MINUTE)
    assert stage.times() == ["12:00", "12:02"]
    # What the new rule has missed since the last attempt is owed as well, once.
    await scheduler.stop()
    await stage.passes(datetime(2026, 3, 10, 15, 30, tzinfo=UTC) - stage.clock.now())
    await scheduler.initialize([stage.task(cron="20 * * * *")])
    await stage.clock.settle()
    assert stage.times() == ["12:00", "12:02", "15:30"]


@pytest.mark.req("DECL-42")
@staged
async def test_a_failure_is_not_forgotten_with_the_rule_whose_occurrence_took_its_retrys_place(
    stage: Stage,
) -> None:
    """Found by a life: the occurrence came during the run, so there is no retry; then its rule is gone."""
    stage.failing.add("a")
    stage.takes["a"] = 90 * SECOND
    scheduler = await stage.started(stage.task(delay=HOUR))
    stopping = asyncio.ensure_future(scheduler.stop())
    await stage.passes(2 * MINUTE)
    await stopping
    stage.failing.clear()
    await scheduler.initialize([stage.task(cron="0 0 1 1 *")])
    await stage.passes(2 * MINUTE)
    assert stage.times() == ["12:00", "12:02"]
