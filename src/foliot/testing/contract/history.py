"""History: what ended and what was skipped is kept once, under keys that anybody can compute, and pruned."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from foliot.engine.plan_set_back import plan_set_back
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.policy import Keep, Policy, Retry
from foliot.model.state import Skip
from foliot.protocols import DecideCommand, JobQuery, Pruned, Recovered
from foliot.schedules import Once
from foliot.testing.contract.sample import DAY, HOUR, MINUTE, SOURCE, a_job, change, lose
from foliot.testing.contract.stage import Contract, Stage, scenario

KEY = f"{SOURCE}/job"
ALL = Keep(last=None, days=None)


def write_down(
    attempts: Sequence[Attempt] = (), skips: Sequence[Skip] = (), last_run: str | None = None
) -> DecideCommand:
    """Write history, as any decision may."""
    return lambda record: change(last_run=last_run)(record)._replace(
        attempts=tuple(attempts), skips=tuple(skips)
    )


def ended(at: datetime, outcome: Outcome = Outcome.SUCCEEDED, number: int = 1) -> Attempt:
    """An attempt of the past."""
    return Attempt(
        KEY, number, Trigger.SCHEDULE, AttemptState.ENDED, at,
        node="a", token=number, claimed_at=at, started_at=at, finished_at=at, outcome=outcome,
    )  # fmt: skip


async def remember(stage: Stage, attempts: Sequence[Attempt], keep: Keep, last: int | None = -1) -> None:
    """A job with a past; `last` says which of it is its last run."""
    await stage.declare(a_job(policy=Policy(keep=keep)), wake_at=stage.later(DAY))
    last_run = None if last is None else attempts[last].run_key
    await stage.store.update(KEY, write_down(attempts, last_run=last_run))


class HistoryContract(Contract):
    """Written twice is written once; what is pruned is what nobody asked to keep."""

    @scenario
    async def test_what_has_run_does_not_run_again_when_the_clock_was_set_back(self, stage: Stage) -> None:
        """As far as history goes back: a job that has forgotten what it served is asked about anew."""
        await stage.join("a")
        await stage.plan(a_job())
        began = stage.now
        for _ in range(3):
            await stage.advance(HOUR)
            await stage.finish("a", *await stage.claim_all("a", plan_due), decide=plan_ended)
        before = await stage.runs()
        stage.clock.set_by(began - stage.now - HOUR)
        await stage.store.update(KEY, lambda record: plan_set_back(record, stage.now))
        started: list[Attempt] = []
        for _ in range(5):
            await stage.advance(HOUR)
            new = await stage.claim_all("a", plan_due)
            await stage.finish("a", *new, decide=plan_ended)
            started += new
        known = {attempt.key for attempt in before}
        assert len(before) == 3
        assert not known & {attempt.key for attempt in started}
        assert [attempt.scheduled_for - began for attempt in started] == [timedelta(0), 4 * HOUR]
        assert {run for run in await stage.runs() if run.key in known} == set(before), (
            "and it stays as it was"
        )

    @scenario
    async def test_an_attempt_is_written_once_however_often(self, stage: Stage) -> None:
        attempts = [ended(stage.now - hours * HOUR) for hours in (2, 1)]
        await remember(stage, attempts, ALL)
        for _ in range(2):
            await stage.store.update(KEY, write_down(attempts))
        assert await stage.runs() == tuple(reversed(attempts))

    @scenario
    async def test_attempts_of_one_run_share_its_key(self, stage: Stage) -> None:
        await stage.join("a")
        at = stage.later(HOUR)
        policy = Policy(retry=Retry(max=1, delay=timedelta(seconds=1)))
        await stage.plan(a_job(schedule=Once(at), policy=policy))
        await stage.advance(HOUR)
        for number in (1, 2):
            (attempt,) = await stage.claim_all("a", plan_due)
            assert attempt.key == (f"{KEY}@{at:%Y-%m-%dT%H:%M:%S}Z", number)
            await stage.finish("a", attempt, outcome=Outcome.FAILED, decide=plan_ended)
            await stage.advance(MINUTE)
        assert [a.number for a in await stage.runs()] == [2, 1]

    @scenario
    async def test_runs_a_microsecond_apart_are_two(self, stage: Stage) -> None:
        attempts = [ended(stage.now), ended(stage.now + timedelta(microseconds=1))]
        await remember(stage, attempts, ALL)
        assert len(await stage.runs()) == 2

    # -- skips -------------------------------------------------------------------------------------

    @scenario
    async def test_skips_are_shown_oldest_first_and_once(self, stage: Stage) -> None:
        await stage.declare(a_job(), a_job("other"), wake_at=stage.later(DAY))
        skips = [
            Skip(KEY, stage.now + hours * HOUR, stage.now + (hours + 1) * HOUR, f"reason {hours}: ünï '\"%")
            for hours in (4, 0, 2)
        ]
        for _ in range(2):
            for skip in skips:
                await stage.store.update(KEY, write_down(skips=[skip]))
        assert await stage.store.skips(KEY) == (skips[1], skips[2], skips[0])
        assert await stage.store.skips(KEY, 2) == (skips[2], skips[0]), "the newest of them"
        assert await stage.store.skips(KEY, 0) == ()
        assert await stage.store.skips(KEY, 9) == await stage.store.skips(KEY)
        assert await stage.store.skips(f"{SOURCE}/other") == ()
        assert await stage.store.skips(f"{SOURCE}/nothing") == ()

    @scenario
    async def test_a_skip_of_one_moment_is_a_range_too(self, stage: Stage) -> None:
        await stage.declare(a_job(), wake_at=stage.later(DAY))
        skip = Skip(KEY, stage.now, stage.now, "missed")
        await stage.store.update(KEY, write_down(skips=[skip]))
        assert await stage.store.skips(KEY) == (skip,)

    # -- pruning -----------------------------------------------------------------------------------

    @scenario
    async def test_all_is_kept_if_the_policy_says_so(self, stage: Stage) -> None:
        attempts = [ended(stage.now - days * DAY) for days in range(300, 0, -10)]
        await remember(stage, attempts, ALL)
        assert await stage.store.prune(stage.now, 1000) == Pruned()
        assert len(await stage.runs()) == 30

    @scenario
    async def test_the_last_so_many_are_kept(self, stage: Stage) -> None:
        attempts = [ended(stage.now - hours * HOUR) for hours in range(9, -1, -1)]
        await remember(stage, attempts, Keep(last=3, days=None))
        assert await stage.store.prune(stage.now, 1000) == Pruned(7)
        assert await stage.runs() == tuple(reversed(attempts[-3:]))

    @scenario
    async def test_so_many_days_are_kept_to_the_microsecond(self, stage: Stage) -> None:
        limit = stage.now - 10 * DAY
        attempts = [ended(limit + timedelta(microseconds=n)) for n in (-1, 0, 1)] + [ended(stage.now)]
        await remember(stage, attempts, Keep(last=None, days=10))
        assert await stage.store.prune(stage.now, 1000) == Pruned(1)
        assert await stage.runs() == tuple(reversed(attempts[1:]))

    @scenario
    async def test_problems_only_keeps_all_but_successes(self, stage: Stage) -> None:
        outcomes = list(Outcome)
        attempts = [ended(stage.now - n * HOUR, outcome) for n, outcome in enumerate(outcomes, start=1)]
        attempts.append(ended(stage.now))
        await remember(stage, attempts, Keep(last=None, days=None, problems_only=True))
        assert await stage.store.prune(stage.now, 1000) == Pruned(1)
        kept = {a.outcome for a in await stage.runs(since=None)}
        assert kept == set(Outcome), "the last run is kept, though it was a success"
        assert len(await stage.runs()) == len(outcomes)

    @scenario
    async def test_the_last_run_is_kept_however_old(self, stage: Stage) -> None:
        attempts = [ended(stage.now - days * DAY, Outcome.FAILED) for days in (900, 800, 700)]
        await remember(stage, attempts, Keep(last=1, days=1), last=1)
        await stage.store.prune(stage.now, 1000)
        assert await stage.runs() == (attempts[1],)

    @scenario
    async def test_the_last_success_is_kept_however_many_failures_follow(self, stage: Stage) -> None:
        success = ended(stage.now - 50 * DAY)
        failures = [ended(stage.now - hours * HOUR, Outcome.FAILED) for hours in range(20, 0, -1)]
        await remember(stage, [ended(stage.now - 60 * DAY), success, *failures], Keep(last=3, days=10))
        assert await stage.store.prune(stage.now, 1000) == Pruned(18)
        assert await stage.runs() == (*reversed(failures[-3:]), success)
        (view,) = await stage.store.jobs(JobQuery())
        assert view.last_success_at == success.finished_at

    @scenario
    async def test_all_attempts_of_the_last_run_are_kept(self, stage: Stage) -> None:
        at = stage.now - 100 * DAY
        attempts = [ended(at, Outcome.FAILED, number) for number in (1, 2, 3)]
        await remember(stage, attempts, Keep(last=1, days=1))
        await stage.store.prune(stage.now, 1000)
        assert [a.number for a in await stage.runs()] == [3, 2, 1]

    @scenario
    async def test_a_run_that_is_open_keeps_its_past(self, stage: Stage) -> None:
        await stage.join("a")
        at = stage.now - 100 * DAY
        first = ended(at, Outcome.FAILED)
        retry = ended(at, number=2)._replace(state=AttemptState.PENDING, outcome=None, finished_at=None)
        newer = ended(at + HOUR)
        await remember(stage, [first, retry, newer], Keep(last=1, days=1))
        await stage.store.prune(stage.now, 1000)
        assert {a.key for a in await stage.runs()} == {first.key, retry.key, newer.key}

    @scenario
    async def test_what_runs_is_never_pruned(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job(policy=Policy(keep=Keep(last=1, days=1))), wake_at=stage.now - 90 * DAY)
        (attempt,) = await stage.claim("a")
        await stage.store.update(KEY, change(last_run=None))
        assert await stage.store.prune(stage.now, 1000) == Pruned()
        assert await stage.open_keys("a") == {attempt.key}

    @scenario
    async def test_a_limit_is_kept_and_the_rest_is_pruned_later(self, stage: Stage) -> None:
        attempts = [ended(stage.now - hours * HOUR) for hours in range(26, -1, -1)]
        await remember(stage, attempts, Keep(last=1, days=None))
        assert [(await stage.store.prune(stage.now, 10)).forgotten for _ in range(4)] == [10, 10, 6, 0]
        assert await stage.runs() == (attempts[-1],)

    @scenario
    async def test_pruning_goes_on_where_it_was(self, stage: Stage) -> None:
        """No more jobs are looked at than the limit says, so a million of them cost no more than a few."""
        attempts = [ended(stage.now - hours * HOUR) for hours in (3, 2, 1)]
        keys = [f"{SOURCE}/{name}" for name in "abcde"]
        policy = Policy(keep=Keep(last=1, days=None))
        await stage.declare(*(a_job(name, policy=policy) for name in "abcde"), wake_at=stage.later(DAY))
        for key in keys:
            past = [attempt._replace(job=key) for attempt in attempts]
            await stage.store.update(key, write_down(past, last_run=past[-1].run_key))
        after = ""
        laps: list[tuple[int, str]] = []
        while not laps or after:
            forgotten, after = await stage.store.prune(stage.now, 4, after)
            laps.append((forgotten, after))
        assert laps == [(4, keys[1]), (4, keys[3]), (2, "")]
        assert [await stage.store.prune(stage.now, 4), await stage.store.prune(stage.now, 4, keys[3])] == [
            Pruned(0, keys[3]),
            Pruned(),
        ]
        assert len(await stage.runs()) == 5

    @pytest.mark.parametrize(("keep", "kept"), [(Keep(last=None, days=2), 2), (Keep(last=3, days=None), 3)])
    @scenario
    async def test_skips_are_pruned_like_runs(self, stage: Stage, keep: Keep, kept: int) -> None:
        await stage.declare(a_job(policy=Policy(keep=keep)), wake_at=stage.later(DAY))
        skips = [Skip(KEY, stage.now - days * DAY, stage.now - days * DAY, "") for days in range(5, 0, -1)]
        await stage.store.update(KEY, write_down(skips=skips))
        assert await stage.store.prune(stage.now, 1000) == Pruned(5 - kept)
        assert await stage.store.skips(KEY) == tuple(skips[-kept:])

    @scenario
    async def test_each_jobs_own_policy_counts(self, stage: Stage) -> None:
        attempts = [ended(stage.now - hours * HOUR) for hours in (3, 2, 1)]
        await remember(stage, attempts, Keep(last=1, days=None))
        await stage.declare(a_job("other", policy=Policy(keep=ALL)), wake_at=stage.later(DAY))
        others = [attempt._replace(job=f"{SOURCE}/other") for attempt in attempts]
        await stage.store.update(f"{SOURCE}/other", write_down(others, last_run=others[-1].run_key))
        assert await stage.store.prune(stage.now, 1000) == Pruned(2)
        assert len(await stage.runs(job=KEY)) == 1
        assert len(await stage.runs(job=f"{SOURCE}/other")) == 3

    @scenario
    async def test_pruning_leaves_jobs_and_skips_of_yesterday_alone(self, stage: Stage) -> None:
        await stage.declare(a_job(policy=Policy(keep=Keep(last=1, days=1))), wake_at=stage.later(DAY))
        skip = Skip(KEY, stage.now - HOUR, stage.now - HOUR, "missed")
        await stage.store.update(KEY, write_down(skips=[skip]))
        before = await stage.record(KEY)
        assert await stage.store.prune(stage.now, 1000) == Pruned()
        assert await stage.record(KEY) == before
        assert await stage.store.skips(KEY) == (skip,)

    @pytest.mark.parametrize("limit", [0, 1])
    @scenario
    async def test_an_empty_store_has_nothing_to_prune(self, stage: Stage, limit: int) -> None:
        assert await stage.store.prune(stage.now, limit) == Pruned()
        assert await stage.store.recover(limit, stage.now, lose) == Recovered()
