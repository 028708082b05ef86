"""Locks that can be proved: a worker that was late writes nothing, and the same call twice is harmless."""

# ruff: noqa: S101 - cases of a test suite: their names are their sentences

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from foliot.doors.documents.job import FencedStore, Job, JobUpdate, Settled
from foliot.testing.documents.stage import HOUR, MINUTE, Contract, Stage, scenario

_EDITS = [{"interval": "@hourly"}, {"autoRemove": True}, {"repeatUntil": datetime(2030, 1, 1, tzinfo=UTC)}]
_ENDS = [JobUpdate(sleep_until=None), None]


class FencedStoreContract(Contract):
    """What `FencedStore` promises."""

    @scenario
    async def test_it_is_a_fenced_store(self, stage: Stage) -> None:
        assert isinstance(stage.store, FencedStore)

    @scenario
    async def test_a_renewal_moves_the_lock(self, stage: Stage) -> None:
        job, held = await _locked(stage)
        until = held + MINUTE
        assert await stage.store.renew(job, held, until)
        assert (await stage.found(job.id)).sleep_until == until
        assert not await stage.store.renew(job, held, until), "that is no longer what is held"
        assert await stage.store.renew(job, until, until), "that is"
        assert (await stage.found(job.id)).sleep_until == until

    @scenario
    async def test_a_lock_that_another_worker_has_taken_is_not_renewed(self, stage: Stage) -> None:
        job, held = await _locked(stage, ended=True)
        await stage.locked()
        assert not await stage.store.renew(job, held, stage.now + 2 * HOUR)
        assert (await stage.found(job.id)).sleep_until == stage.now + HOUR

    @scenario
    async def test_a_removed_job_is_not_renewed_and_not_made_again(self, stage: Stage) -> None:
        job, held = await _locked(stage)
        await stage.store.remove(job.id)
        assert not await stage.store.renew(job, held, held + MINUTE)
        assert await stage.store.settle(job, held, JobUpdate(sleep_until=None)) is Settled.LOST
        assert await stage.find(job.id) is None

    @scenario
    async def test_a_time_is_settled_and_settling_again_is_done(self, stage: Stage) -> None:
        job, held = await _locked(stage, interval="@daily", note="kept")
        following = JobUpdate(sleep_until=stage.now + 3 * HOUR)
        for _ in range(2):
            assert await stage.store.settle(job, held, following) is Settled.DONE
        found = await stage.found(job.id)
        assert (found.sleep_until, found.interval, found.data["note"]) == (
            stage.now + 3 * HOUR, "@daily", "kept",
        )  # fmt: skip

    @scenario
    async def test_an_end_is_settled_and_settling_again_is_done(self, stage: Stage) -> None:
        for update in _ENDS:
            job, held = await _locked(stage)
            for _ in range(2):
                assert await stage.store.settle(job, held, update) is Settled.DONE
            found = await stage.find(job.id)
            assert found is None if update is None else found is not None and found.sleep_until is None

    @scenario
    async def test_a_late_worker_writes_nothing(self, stage: Stage) -> None:
        for update in [*_ENDS, JobUpdate(sleep_until=stage.now + 3 * HOUR)]:
            job, held = await _locked(stage, ended=True)
            await stage.locked()
            assert await stage.store.settle(job, held, update) is Settled.LOST
            assert (await stage.found(job.id)).sleep_until == stage.now + HOUR, "the other worker's lock"
            await stage.store.remove(job.id)

    @scenario
    async def test_a_late_worker_does_not_end_what_another_has_moved_on(self, stage: Stage) -> None:
        job, held = await _locked(stage, ended=True, interval="@daily")
        other = await stage.locked()
        following = JobUpdate(sleep_until=stage.now + 5 * HOUR)
        assert await stage.store.settle(other, stage.now + HOUR, following) is Settled.DONE
        assert await stage.store.settle(job, held, None) is Settled.LOST
        assert (await stage.found(job.id)).sleep_until == stage.now + 5 * HOUR

    @pytest.mark.parametrize("edit", _EDITS)
    def test_an_edit_under_a_live_lock_is_told(self, where: str, edit: dict[str, Any]) -> None:
        async def case(self: FencedStoreContract, stage: Stage) -> None:
            job, held = await _locked(stage, interval="@daily")
            fields = {"sleepUntil": held, "interval": "@daily", **edit}
            await self.add(stage.store, {"_id": job.id, **fields})
            for update in _ENDS:
                assert await stage.store.settle(job, held, update) is Settled.CHANGED
            fresh = await stage.found(job.id)
            assert fresh.sleep_until == held, "nothing was written"
            assert await stage.store.settle(fresh, held, JobUpdate(sleep_until=None)) is Settled.DONE

        scenario(case)(self, where)

    @scenario
    async def test_a_job_is_given_back(self, stage: Stage) -> None:
        job, held = await _locked(stage)
        back = JobUpdate(sleep_until=job.sleep_until)
        assert await stage.store.settle(job, held, back) is Settled.DONE
        assert (await stage.locked()).id == job.id


async def _locked(stage: Stage, *, ended: bool = False, **fields: Any) -> tuple[Job, datetime]:
    """A job that is locked, and the lock; one that has ended, if asked for."""
    await stage.add(HOUR, **fields)
    until = -MINUTE if ended else 2 * HOUR
    return await stage.locked(until), stage.now + until
