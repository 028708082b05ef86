"""Damage: a record that cannot be read is set aside and shown, and all others go on (rule 6)."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pytest

from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.errors import FoliotError, JobNotFoundError
from foliot.model.attempt import Ending, Outcome
from foliot.model.decision import Decision, Event, Happening
from foliot.model.state import Record
from foliot.protocols import JobQuery, JobView
from foliot.testing.contract.sample import (
    HOUR,
    MINUTE,
    SECOND,
    SOURCE,
    a_job,
    change,
    count_one,
    end,
    keys_of,
    lose,
    some_jobs,
    start_due,
)
from foliot.testing.contract.stage import Contract, Damage, Stage, scenario

BAD = f"{SOURCE}/job-0001"


class DamageContract(Contract):
    """One bad record, by what was stored or by what is thought of it, takes no good one down."""

    async def _view(self, stage: Stage, key: str = BAD) -> JobView:
        (view,) = await stage.store.jobs(JobQuery(keys=frozenset((key,)), with_removed=True))
        return view

    @scenario
    async def test_the_damaged_is_shown_with_its_damage(self, stage: Stage, damage: Damage) -> None:
        jobs = some_jobs(3)
        await stage.declare(*jobs)
        await damage(stage.store, BAD)
        assert await stage.keys() == keys_of(jobs)
        assert await stage.keys(source=SOURCE) == keys_of(jobs)
        assert await stage.keys(source="another") == []
        views = await stage.store.jobs(JobQuery())
        assert [bool(view.problem) for view in views] == [False, True, False]
        overview = await stage.overview()
        assert (overview.damaged, overview.jobs) == (1, 3)

    @scenario
    async def test_all_others_are_claimed(self, stage: Stage, damage: Damage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(3))
        await damage(stage.store, BAD)
        started = await stage.claim_all("a")
        assert [a.job for a in started] == [f"{SOURCE}/job-0000", f"{SOURCE}/job-0002"]
        assert (await stage.finish("a", *started)).refused == ()
        assert await stage.claim_all("a") == []

    @scenario
    async def test_nobody_is_woken_for_what_cannot_be_read(self, stage: Stage, damage: Damage) -> None:
        await stage.declare(*some_jobs(2), wake_at=stage.now)
        await stage.store.update(f"{SOURCE}/job-0000", change(wake_at=stage.later(HOUR)))
        await damage(stage.store, BAD)
        await stage.join("a")
        await stage.claim_all("a")
        assert (await stage.store.wakes(["default"])).first == stage.later(HOUR)
        assert (await stage.overview()).next_wake_at == stage.later(HOUR)

    @scenario
    async def test_a_command_to_the_damaged_is_refused(self, stage: Stage, damage: Damage) -> None:
        await stage.declare(*some_jobs(2))
        await damage(stage.store, BAD)
        with pytest.raises(FoliotError):
            await stage.store.update(BAD, count_one)
        await stage.store.update(f"{SOURCE}/job-0000", count_one)
        with pytest.raises(JobNotFoundError):
            await stage.store.update(f"{SOURCE}/nothing", count_one)

    @scenario
    async def test_the_ends_of_others_are_recorded(self, stage: Stage, damage: Damage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(3))
        attempts = await stage.claim_all("a")
        await damage(stage.store, BAD)
        finished = await stage.finish("a", *attempts)
        assert [refused.ending.job for refused in finished.refused] in ([], [BAD])
        assert {a.job for a in await stage.runs(outcome=Outcome.SUCCEEDED)} >= {
            f"{SOURCE}/job-0000",
            f"{SOURCE}/job-0002",
        }

    @scenario
    async def test_the_lost_of_others_are_recovered(self, stage: Stage, damage: Damage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(3))
        await stage.claim_all("a")
        await damage(stage.store, BAD)
        await stage.bury("a")
        lost = {a.job for a in await stage.runs(outcome=Outcome.LOST)}
        assert lost >= {f"{SOURCE}/job-0000", f"{SOURCE}/job-0002"}

    @scenario
    async def test_what_a_damaged_job_ran_does_not_stay_open_when_it_works_again(
        self, stage: Stage, damage: Damage
    ) -> None:
        """Its node may be long forgotten by then."""
        await stage.join("a", "b")
        await stage.plan(*some_jobs(2))
        await stage.advance(HOUR)
        await stage.claim_all("a", plan_due)
        await damage(stage.store, BAD)
        await stage.bury("a", plan_lost)
        await stage.recover(plan_lost)
        await stage.plan(*some_jobs(2))
        await stage.recover(plan_lost)
        running = [a.job for a in await stage.runs(is_open=True) if a.is_running]
        assert running == [], "nobody alive holds it"

    @scenario
    async def test_housekeeping_goes_on(self, stage: Stage, damage: Damage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(3))
        await stage.finish("a", *await stage.claim_all("a"))
        await damage(stage.store, BAD)
        await stage.store.prune(stage.later(1000 * HOUR), 1000)
        await stage.store.renew("a")
        assert len(await stage.store.jobs(JobQuery())) == 3

    @scenario
    async def test_what_is_declared_anew_works_again(self, stage: Stage, damage: Damage) -> None:
        await stage.join("a")
        await stage.plan(*some_jobs(3))
        before = (await stage.record(BAD)).state.token
        await damage(stage.store, BAD)
        await stage.advance(MINUTE)
        await stage.plan(*some_jobs(3))
        assert (await self._view(stage)).damage is None
        assert (await stage.overview()).damaged == 0
        await stage.advance(HOUR)
        started = await stage.claim_all("a", plan_due)
        assert sorted(a.job for a in started) == keys_of(some_jobs(3))
        assert all(a.token > before for a in started if a.job == BAD)
        assert (await stage.finish("a", *started, decide=plan_ended)).refused == ()

    @scenario
    async def test_what_its_source_removes_is_gone(self, stage: Stage, damage: Damage) -> None:
        await stage.plan(*some_jobs(3))
        await damage(stage.store, BAD)
        await stage.plan(removed=("job-0001",))
        assert await stage.keys() == [f"{SOURCE}/job-0000", f"{SOURCE}/job-0002"]
        assert (await stage.overview()).damaged == 0

    @scenario
    async def test_a_page_of_damage_does_not_end_the_list(self, stage: Stage, damage: Damage) -> None:
        jobs = some_jobs(6)
        await stage.declare(*jobs)
        for job in jobs[:3]:
            await damage(stage.store, job.key)
        found: list[str] = []
        while page := await stage.store.jobs(JobQuery(after=found[-1] if found else "", limit=2)):
            found += (view.key for view in page)
        assert found == keys_of(jobs)

    # -- what cannot be decided about --------------------------------------------------------------

    @scenario
    async def test_a_job_that_cannot_be_decided_about_is_set_aside(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(3))
        claimed = await stage.store.claim("a", stage.now, {"default": 9}, _fail_for_the_bad, "c")
        started = sorted(attempt.job for _, attempt in claimed.runs)
        assert started == [f"{SOURCE}/job-0000", f"{SOURCE}/job-0002"]
        assert _set_aside_in(claimed.events) == [BAD]
        view = await self._view(stage)
        assert "it went wrong" in (view.problem or "")
        assert (await stage.store.wakes(["default"])).first is None
        assert await stage.claim_all("a") == []
        await stage.declare(a_job("job-0001"), wake_at=stage.now - SECOND)
        assert [a.job for a in await stage.claim_all("a")] == [BAD]

    @scenario
    async def test_an_end_that_cannot_be_decided_about_does_not_stop_the_others(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(3))
        attempts = await stage.claim_all("a")

        finished = await stage.finish("a", *attempts, decide=_fail_to_end_the_bad)
        assert [(refused.ending.job, bool(refused.reason)) for refused in finished.refused] == [(BAD, True)]
        assert _set_aside_in(finished.events) == [BAD]
        ended = {a.job for a in await stage.runs(outcome=Outcome.SUCCEEDED)}
        assert ended == {f"{SOURCE}/job-0000", f"{SOURCE}/job-0002"}
        assert (await self._view(stage)).damage is not None

    @scenario
    async def test_a_loss_that_cannot_be_decided_about_does_not_stop_the_others(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(3))
        await stage.claim_all("a")
        await stage.store.leave("a")
        for _ in range(3):
            await stage.recover(_fail_to_lose_the_bad, limit=1)
        lost = {a.job for a in await stage.runs(outcome=Outcome.LOST)}
        assert lost == {f"{SOURCE}/job-0000", f"{SOURCE}/job-0002"}
        assert (await self._view(stage)).damage is not None

    # -- what a newer version wrote ----------------------------------------------------------------

    @scenario
    async def test_fields_that_this_version_does_not_know_survive(self, stage: Stage) -> None:
        await stage.join("a")
        extra = {"colour": "blue", "nested": {"list": [1, {"a": None}]}}
        job = a_job(extra=extra)
        attempt = await stage.start_one("a", job)
        await stage.finish("a", attempt)
        await stage.store.update(job.key, change(paused_at=stage.now))
        assert dict((await stage.record(job.key)).job.extra) == extra


def _set_aside_in(events: Sequence[Event]) -> list[str]:
    return [
        event.job for event in events if event.what is Happening.SET_ASIDE and "it went wrong" in event.reason
    ]


def _fail_for_the_bad(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
    if record.job.key == BAD:
        raise ArithmeticError("it went wrong")
    return start_due(record, now, node, most)


def _fail_to_end_the_bad(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
    if record.job.key == BAD:
        raise ArithmeticError("it went wrong")
    return end(record, endings, now)


def _fail_to_lose_the_bad(record: Record, lost: Sequence[tuple[str, int]], now: datetime) -> Decision:
    if record.job.key == BAD:
        raise ArithmeticError("it went wrong")
    return lose(record, lost, now)
