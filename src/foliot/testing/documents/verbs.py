"""The three verbs: what is picked, what is written, and what stays as it was."""

# ruff: noqa: S101 - cases of a test suite: their names are their sentences

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from foliot.doors.documents.job import JobUpdate
from foliot.errors import JobNotFoundError
from foliot.testing.documents.stage import HOUR, MINUTE, SECOND, Contract, Stage, scenario

_UNTOUCHED = {"interval": "0 9 * * *", "autoRemove": True, "note": "Grüße"}


class VerbContract(Contract):
    """One worker, step by step."""

    @scenario
    async def test_an_empty_store_has_nothing_due(self, stage: Stage) -> None:
        assert await stage.lock() is None

    @scenario
    async def test_a_due_job_is_returned_as_it_was_and_locked(self, stage: Stage) -> None:
        id_ = await stage.add(MINUTE, interval="*/5 * * * *", autoRemove=True)
        job = await stage.locked()
        assert job.id == id_
        assert job.sleep_until == stage.now - MINUTE, "the time before the lock"
        assert (job.interval, job.repeat_until, job.auto_remove) == ("*/5 * * * *", None, True)
        assert (await stage.found(id_)).sleep_until == stage.now + HOUR, "the lock"

    @scenario
    async def test_times_come_back_with_a_zone_and_to_the_millisecond(self, stage: Stage) -> None:
        until = stage.now + HOUR + timedelta(milliseconds=7)
        id_ = await stage.add(timedelta(milliseconds=12_345), interval="@daily", repeatUntil=until)
        job = await stage.locked()
        assert job.sleep_until is not None
        assert job.sleep_until.utcoffset() is not None
        assert job.sleep_until == stage.now - timedelta(milliseconds=12_345)
        assert job.repeat_until == until
        await stage.store.update(id_, JobUpdate(sleep_until=until))
        assert (await stage.found(id_)).sleep_until == until

    @scenario
    async def test_what_the_user_wrote_comes_through(self, stage: Stage) -> None:
        await stage.add(MINUTE, note="Grüße, 'Ann'; --", size=7)
        job = await stage.locked()
        assert (job.data["note"], job.data["size"]) == ("Grüße, 'Ann'; --", 7)

    @scenario
    async def test_a_job_is_not_due_before_its_time(self, stage: Stage) -> None:
        await stage.add(-HOUR)
        assert await stage.lock(2 * HOUR) is None

    @scenario
    async def test_a_job_without_a_time_is_never_due(self, stage: Stage) -> None:
        id_ = await stage.add(None, interval="* * * * *")
        assert await stage.lock() is None
        assert (await stage.found(id_)).sleep_until is None

    @scenario
    async def test_the_job_that_is_due_for_longest_comes_first(self, stage: Stage) -> None:
        ids = {ago: await stage.add(ago) for ago in (MINUTE, HOUR, SECOND)}
        got = [(await stage.locked()).id for _ in ids]
        assert got == [ids[HOUR], ids[MINUTE], ids[SECOND]]

    @scenario
    async def test_a_locked_job_is_not_given_again(self, stage: Stage) -> None:
        await stage.add(MINUTE)
        await stage.locked()
        assert await stage.lock() is None

    @scenario
    async def test_a_job_whose_lock_has_ended_is_given_again(self, stage: Stage) -> None:
        id_ = await stage.add(HOUR)
        await stage.locked(-MINUTE)
        again = await stage.locked()
        assert again.id == id_
        assert again.sleep_until == stage.now - MINUTE, "the first lock's end: the older time is lost"

    @scenario
    async def test_an_update_sets_a_time(self, stage: Stage) -> None:
        id_ = await stage.add(MINUTE, **_UNTOUCHED)
        await stage.store.update(id_, JobUpdate(sleep_until=stage.now + HOUR))
        job = await stage.found(id_)
        assert job.sleep_until == stage.now + HOUR
        assert (job.interval, job.auto_remove, job.data["note"]) == ("0 9 * * *", True, "Grüße")

    @scenario
    async def test_an_update_sets_no_time(self, stage: Stage) -> None:
        id_ = await stage.add(MINUTE, **_UNTOUCHED)
        await stage.store.update(id_, JobUpdate(sleep_until=None))
        job = await stage.found(id_)
        assert (job.sleep_until, job.auto_remove) == (None, True)
        assert await stage.lock() is None

    @scenario
    async def test_an_update_leaves_what_it_does_not_name(self, stage: Stage) -> None:
        id_ = await stage.add(MINUTE, **_UNTOUCHED)
        await stage.store.update(id_, JobUpdate())
        job = await stage.found(id_)
        assert (job.sleep_until, job.auto_remove) == (stage.now - MINUTE, True)
        await stage.store.update(id_, JobUpdate(auto_remove=False))
        job = await stage.found(id_)
        assert (job.sleep_until, job.auto_remove, job.interval) == (stage.now - MINUTE, False, "0 9 * * *")

    @scenario
    async def test_an_update_of_one_job_leaves_the_others_alone(self, stage: Stage) -> None:
        first, second = await stage.add(MINUTE), await stage.add(MINUTE)
        await stage.store.update(first, JobUpdate(sleep_until=None, auto_remove=True))
        other = await stage.found(second)
        assert (other.sleep_until, other.auto_remove) == (stage.now - MINUTE, False)

    @scenario
    async def test_an_update_of_a_job_that_is_not_there_says_so(self, stage: Stage) -> None:
        id_ = await stage.add(MINUTE)
        await stage.store.remove(id_)
        for updates in (JobUpdate(sleep_until=None), JobUpdate()):
            with pytest.raises(JobNotFoundError):
                await stage.store.update(id_, updates)
        assert await stage.find(id_) is None, "nothing was made"

    @scenario
    async def test_a_removed_job_is_gone_and_the_others_are_not(self, stage: Stage) -> None:
        ids: list[Any] = [await stage.add(MINUTE) for _ in range(3)]
        await stage.store.remove(ids[1])
        assert [await stage.find(id_) is None for id_ in ids] == [False, True, False]

    @scenario
    async def test_removing_what_is_not_there_is_no_error(self, stage: Stage) -> None:
        id_ = await stage.add(MINUTE)
        await stage.store.remove(id_)
        await stage.store.remove(id_)
