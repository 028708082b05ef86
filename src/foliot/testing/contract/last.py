"""What was last: when a job succeeded, and how its newest attempts ended."""

# ruff: noqa: S101 - cases of a test suite assert

from __future__ import annotations

from datetime import datetime

import pytest

from foliot.model.attempt import Outcome
from foliot.protocols import JobQuery
from foliot.protocols_source import TellsOutcomes
from foliot.testing.contract.history import KEY, ended, write_down
from foliot.testing.contract.query import run_once
from foliot.testing.contract.sample import HOUR, MINUTE, SOURCE, a_job
from foliot.testing.contract.stage import Contract, Stage, scenario


class LastContract(Contract):
    """The last success, and the last outcomes."""

    @scenario
    async def test_a_jobs_last_success_is_shown(self, stage: Stage) -> None:
        await stage.join("a")
        assert await self._last_success(stage) is None
        await run_once(stage, "job", Outcome.FAILED, stage.now)
        assert await self._last_success(stage) is None
        for _ in range(2):
            await stage.advance(MINUTE)
            await run_once(stage, "job", Outcome.SUCCEEDED, stage.now)
        succeeded_at = stage.now
        await stage.advance(MINUTE)
        await run_once(stage, "job", Outcome.FAILED, stage.now)
        assert await self._last_success(stage) == succeeded_at

    @scenario
    async def test_a_last_success_is_found_behind_many_failures(self, stage: Stage) -> None:
        await stage.declare(a_job(), wake_at=stage.later(HOUR))
        success = ended(stage.now - 999 * HOUR)
        failures = [ended(stage.now - hours * HOUR, Outcome.FAILED) for hours in range(120, 0, -1)]
        await stage.store.update(KEY, write_down([success, *failures]))
        assert await self._last_success(stage) == success.finished_at

    @scenario
    async def test_a_success_of_a_second_try_is_found_behind_failures(self, stage: Stage) -> None:
        await stage.declare(a_job(), wake_at=stage.later(HOUR))
        tried, tried_again = (
            ended(stage.now - 30 * HOUR, Outcome.FAILED),
            ended(stage.now - 30 * HOUR, number=2),
        )
        older = [ended(stage.now - hours * HOUR) for hours in (50, 40)]
        failures = [ended(stage.now - hours * HOUR, Outcome.FAILED) for hours in range(20, 0, -1)]
        await stage.store.update(KEY, write_down([*older, tried, tried_again, *failures]))
        assert await self._last_success(stage) == tried_again.finished_at

    @scenario
    async def test_the_last_success_is_the_one_that_ended_last(self, stage: Stage) -> None:
        await stage.declare(a_job(), wake_at=stage.later(HOUR))
        caught_up = ended(stage.now - 9 * HOUR)._replace(finished_at=stage.now)
        runs = [ended(stage.now - hours * HOUR) for hours in (3, 2, 1)]
        await stage.store.update(KEY, write_down(runs))
        await stage.store.update(KEY, write_down([caught_up]))
        assert await self._last_success(stage) == stage.now

    @scenario
    async def test_the_last_outcomes_of_jobs_are_those_of_their_last_attempts(self, stage: Stage) -> None:
        store = stage.store
        if not isinstance(store, TellsOutcomes):
            pytest.skip("this store is asked for each job")
        await stage.join("a")
        names = ["job", "filled", "fresh", "busy"]
        await stage.declare(*map(a_job, names), wake_at=stage.later(HOUR))
        mixed = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.LOST, Outcome.SUCCEEDED)
        for name in ("job", "filled"):
            past = [ended(stage.now - (30 - n) * HOUR, mixed[n % 4]) for n in range(30)]
            past.append(ended(stage.now - 9 * HOUR, Outcome.SUCCEEDED, 2))
            key = f"{SOURCE}/{name}"
            await stage.store.update(key, write_down([one._replace(job=key) for one in past]))
        late = [ended(stage.now - n * 24 * HOUR)._replace(job=f"{SOURCE}/filled") for n in (9, 7, 8)]
        for attempt in late:
            await stage.store.update(f"{SOURCE}/filled", write_down([attempt]))
        await stage.declare(a_job("busy"))
        await stage.claim("a")
        keys = [f"{SOURCE}/{name}" for name in (*names, "nothing")]
        for most in (1, 5, 20, 100):
            asked = {key: await stage.runs(job=key, limit=most) for key in keys}
            wanted = {
                key: tuple((one.outcome or one.state).value for one in attempts)
                for key, attempts in asked.items()
                if attempts
            }
            assert dict(await store.outcomes(keys, most)) == wanted
        assert await store.outcomes([], 20) == {}

    async def _last_success(self, stage: Stage) -> datetime | None:
        views = await stage.store.jobs(JobQuery(keys=frozenset((KEY,))))
        return views[0].last_success_at if views else None
