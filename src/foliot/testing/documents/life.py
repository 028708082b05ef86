"""A scheduler on the store: the four ends of a job, and an error that leaves it locked."""

# ruff: noqa: S101 - cases of a test suite: their names are their sentences

from __future__ import annotations

from datetime import timedelta
from typing import Any

from foliot.doors.documents.config import Config
from foliot.doors.documents.job import Job
from foliot.doors.documents.scheduler import Scheduler
from foliot.testing.documents.stage import HOUR, MINUTE, Contract, Stage, scenario


class LifeContract(Contract):
    """What becomes of jobs that a scheduler has processed."""

    @scenario
    async def test_one_time_recurring_and_removed_jobs_end_as_they_should(self, stage: Stage) -> None:
        once = await stage.add(3 * MINUTE)
        recurring = await stage.add(2 * MINUTE, interval="0 0 1 1 *")
        over = await stage.add(MINUTE, interval="0 0 1 1 *", repeatUntil=stage.now - HOUR)
        removed = await stage.add(MINUTE / 2, autoRemove=True)
        later = await stage.add(-HOUR)
        ran, errors = await _run(stage)
        assert ran == [once, recurring, over, removed]
        assert errors == []
        assert (await stage.found(once)).sleep_until is None
        following = (await stage.found(recurring)).sleep_until
        assert following is not None
        assert timedelta(0) < following - stage.now < timedelta(days=367)
        assert (await stage.found(over)).sleep_until is None
        assert await stage.find(removed) is None
        assert (await stage.found(later)).sleep_until == stage.now + HOUR

    @scenario
    async def test_a_job_whose_handler_fails_stays_locked_and_the_others_go_on(self, stage: Stage) -> None:
        bad = await stage.add(HOUR, autoRemove=True)
        good = await stage.add(MINUTE)
        ran, errors = await _run(stage, failing=bad)
        assert ran == [bad, good]
        assert [str(error) for error in errors] == ["on purpose"]
        lock = (await stage.found(bad)).sleep_until
        assert lock is not None
        assert lock > stage.now, "it runs again when its lock ends"
        assert (await stage.found(good)).sleep_until is None

    @scenario
    async def test_a_bad_interval_is_told_and_ends_the_job(self, stage: Stage) -> None:
        bad = await stage.add(HOUR, interval="every day")
        ran, errors = await _run(stage)
        assert ran == [bad]
        assert len(errors) == 1
        assert "every day" in str(errors[0])
        assert (await stage.found(bad)).sleep_until is None


async def _run(stage: Stage, failing: Any = None) -> tuple[list[Any], list[Exception]]:
    """Process all that is due; the ids in their order, and what `on_error` was told."""
    ran: list[Any] = []
    errors: list[Exception] = []

    async def handle(job: Job) -> None:
        ran.append(job.id)
        if job.id == failing:
            raise RuntimeError("on purpose")

    async def stop() -> None:
        await scheduler.stop()

    config = Config(
        store=stage.store, on_document=handle, on_idle=stop, on_error=errors.append, lock_duration="1h",
        timezone="UTC",
    )  # fmt: skip
    scheduler = Scheduler(config)
    await scheduler.run()
    return ran, errors
