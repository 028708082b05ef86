"""History: what ended and what was skipped is kept once, under keys that anybody can compute, and pruned."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

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


def _at_its_end(attempt: Attempt) -> Attempt:
    at = attempt.scheduled_for
    return attempt._replace(state=AttemptState.ENDED, outcome=Outcome.SUCCEEDED, finished_at=at)


async def remember(stage: Stage, attempts: Sequence[Attempt], keep: Keep, last: int | None = -1) -> None:
    """A job with a past; `last` says which of it is its last run."""
    await stage.declare(a_job(policy=Policy(keep=keep)), wake_at=stage.later(DAY))
    last_run = None if last is None else attempts[last].run_key
    await stage.store.update(KEY, write_down(attempts, last_run=last_run))


async def prune_all(stage: Stage) -> int:
    """Prune until there is no more; how much was forgotten."""
    total, laps = 0, 0
    while (pruned := await stage.store.prune(stage.now, 1000)).more:
        total, laps = total + pruned.forgotten, laps + 1
        assert laps < 1000, "it never ends"
    return total + pruned.forgotten


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
        assert await stage.skips(KEY) == (skips[1], skips[2], skips[0])
        assert await stage.skips(KEY, 2) == (skips[2], skips[0]), "the newest of them"
        assert await stage.skips(KEY, 0) == ()
        assert await stage.skips(KEY, 9) == await stage.skips(KEY)
        assert await stage.skips(f"{SOURCE}/other") == ()
        assert await stage.skips(f"{SOURCE}/nothing") == ()

    @scenario
    async def test_a_skip_of_one_moment_is_a_range_too(self, stage: Stage) -> None:
        await stage.declare(a_job(), wake_at=stage.later(DAY))
        skip = Skip(KEY, stage.now, stage.now, "missed")
        await stage.store.update(KEY, write_down(skips=[skip]))
        assert await stage.skips(KEY) == (skip,)

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
        assert await prune_all(stage) == 7
        assert await stage.runs() == tuple(reversed(attempts[-3:]))

    @scenario
    async def test_so_many_days_are_kept_to_the_microsecond(self, stage: Stage) -> None:
        limit = stage.now - 10 * DAY
        attempts = [ended(limit + timedelta(microseconds=n)) for n in (-1, 0, 1)] + [ended(stage.now)]
        await remember(stage, attempts, Keep(last=None, days=10))
        assert await prune_all(stage) == 1
        assert await stage.runs() == tuple(reversed(attempts[1:]))

    @scenario
    async def test_problems_only_keeps_all_but_successes(self, stage: Stage) -> None:
        problems = [outcome for outcome in Outcome if outcome is not Outcome.SUCCEEDED]
        attempts = [ended(stage.now - n * HOUR) for n in range(200, 10, -1)]
        attempts += [ended(stage.now - n * HOUR, outcome) for n, outcome in enumerate(problems, start=1)]
        attempts.append(ended(stage.now))
        await remember(stage, attempts, Keep(last=None, days=None, problems_only=True))
        assert await prune_all(stage) == 190
        kept = {a.outcome for a in await stage.runs(since=None)}
        assert kept == set(Outcome), "the newest is kept, though it was a success"
        assert len(await stage.runs()) == len(problems) + 1

    @scenario
    async def test_the_newest_attempt_is_kept_however_old(self, stage: Stage) -> None:
        attempts = [ended(stage.now - days * DAY, Outcome.FAILED) for days in (900, 800, 700)]
        await remember(stage, attempts, Keep(last=1, days=1))
        await prune_all(stage)
        assert await stage.runs() == (attempts[2],)

    @scenario
    async def test_what_was_run_last_is_kept_though_it_is_of_the_past(self, stage: Stage) -> None:
        """A backfill of last year is not forgotten because the runs of today are newer."""
        today = [ended(stage.now - hours * HOUR) for hours in range(9, 0, -1)]
        await remember(stage, today, Keep(last=3, days=None))
        filled_in = [ended(stage.now - n * DAY)._replace(finished_at=stage.now) for n in (400, 399, 398)]
        for attempt in filled_in:
            await stage.store.update(KEY, write_down([attempt]))
        await prune_all(stage)
        assert set(await stage.runs()) == set(filled_in)
        assert await stage.runs(job=KEY) == tuple(reversed(filled_in))

    @scenario
    async def test_the_last_success_is_kept_however_many_failures_follow(self, stage: Stage) -> None:
        success = ended(stage.now - 50 * DAY)
        failures = [ended(stage.now - hours * HOUR, Outcome.FAILED) for hours in range(20, 0, -1)]
        await remember(stage, [ended(stage.now - 60 * DAY), success, *failures], Keep(last=3, days=10))
        assert await prune_all(stage) == 18
        assert await stage.runs() == (*reversed(failures[-3:]), success)
        assert await stage.runs(job=KEY) == (*reversed(failures[-3:]), success)
        (view,) = await stage.store.jobs(JobQuery())
        assert view.last_success_at == success.finished_at

    @scenario
    async def test_a_run_that_is_tried_for_ever_does_not_fill_the_store(self, stage: Stage) -> None:
        await stage.join("a")
        at = stage.now - DAY
        tries = [ended(at, Outcome.FAILED, number) for number in range(1, 30)]
        retry = ended(at, number=30)._replace(state=AttemptState.PENDING, outcome=None, finished_at=None)
        await remember(stage, [*tries, retry], Keep(last=3, days=None))
        assert await prune_all(stage) == 27
        assert [a.number for a in await stage.runs()] == [30, 29, 28]

    @scenario
    async def test_what_runs_is_never_pruned(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job(policy=Policy(keep=Keep(last=1, days=1))), wake_at=stage.now - 90 * DAY)
        (attempt,) = await stage.claim("a")
        await stage.store.update(KEY, change(last_run=None))
        assert await prune_all(stage) == 0
        assert await stage.open_keys("a") == {attempt.key}

    @scenario
    async def test_a_limit_is_kept_and_the_rest_is_pruned_later(self, stage: Stage) -> None:
        attempts = [ended(stage.now - hours * HOUR) for hours in range(26, -1, -1)]
        await remember(stage, attempts, Keep(last=1, days=None))
        laps = [await stage.store.prune(stage.now, 10) for _ in range(4)]
        assert [lap.forgotten for lap in laps] == [10, 10, 6, 0]
        assert [lap.more for lap in laps[:2]] == [True, True]
        assert not laps[3].more
        assert await stage.runs() == (attempts[-1],)
        assert await stage.runs(job=KEY) == (attempts[-1],)

    @scenario
    async def test_many_jobs_are_pruned_in_batches(self, stage: Stage) -> None:
        attempts = [ended(stage.now - hours * HOUR) for hours in (3, 2, 1)]
        keys = [f"{SOURCE}/{name}" for name in "abcde"]
        policy = Policy(keep=Keep(last=1, days=None))
        await stage.declare(*(a_job(name, policy=policy) for name in "abcde"), wake_at=stage.later(DAY))
        for key in keys:
            await stage.store.update(key, write_down([attempt._replace(job=key) for attempt in attempts]))
        laps = [(await stage.store.prune(stage.now, 4)).forgotten]
        while laps[-1]:
            laps.append((await stage.store.prune(stage.now, 4)).forgotten)
        assert (sum(laps), max(laps)) == (10, 4)
        assert len(await stage.runs()) == 5
        for key in keys:
            assert [a.scheduled_for for a in await stage.runs(job=key)] == [attempts[-1].scheduled_for]

    @scenario
    async def test_a_history_may_grow_to_more_than_twice_before_it_is_cut(self, stage: Stage) -> None:
        """To read it for each attempt that ends would cost more than the attempts do."""
        await remember(stage, [ended(stage.now - n * MINUTE) for n in range(100, 90, -1)], Keep(last=10))
        assert await prune_all(stage) == 0
        for minutes in range(90, 79, -1):
            await stage.store.update(KEY, write_down([ended(stage.now - minutes * MINUTE)]))
            assert await prune_all(stage) == 0
        await stage.store.update(KEY, write_down([ended(stage.now - 79 * MINUTE)]))
        assert await prune_all(stage) == 12
        assert len(await stage.runs()) == 10

    @pytest.mark.parametrize("seed", range(3))
    @scenario
    async def test_of_a_life_of_many_cuts_the_last_so_many_are_found(self, stage: Stage, seed: int) -> None:
        """With backfills, second tries and attempts that are open for long, in any order."""
        chance, keep = Random(seed), 5  # noqa: S311 - not for secrets
        await remember(stage, [ended(stage.now)], Keep(last=keep, days=30))
        opened = [ended(stage.now)]
        for step in range(1, 90):
            outcome = Outcome.SUCCEEDED if chance.random() < (0.8 if step < 45 else 0.05) else Outcome.FAILED
            at, number = stage.now + step * MINUTE, 1
            if (kind := chance.random()) < 0.1:
                at = stage.now - step * MINUTE
            elif kind < 0.2:
                at, number = opened[-1].scheduled_for, opened[-1].number + 1
            new = [ended(at, outcome, number)]
            if chance.random() < 0.1:
                new = [new[0]._replace(state=AttemptState.PENDING, outcome=None, finished_at=None)]
            elif chance.random() < 0.3:
                new += [_at_its_end(attempt) for attempt in opened if attempt.is_open]
            await stage.store.update(KEY, write_down(new))
            opened = [next((n for n in new if n.key == old.key), old) for old in opened] + new[:1]
            await prune_all(stage)
            found = await stage.runs(job=KEY)
            assert found == await stage.runs()
            successes = [attempt for attempt in opened if attempt.outcome is Outcome.SUCCEEDED]
            due = {*opened[-keep:], *successes[-1:], *(attempt for attempt in opened if attempt.is_open)}
            assert due <= set(found) <= set(opened)
            assert len(found) <= 2 * keep + len(due)

    @scenario
    async def test_a_policy_that_keeps_less_counts_for_what_is_there(self, stage: Stage) -> None:
        await remember(stage, [ended(stage.now - n * MINUTE) for n in range(9, 0, -1)], ALL)
        assert await prune_all(stage) == 0
        await stage.declare(a_job(policy=Policy(keep=Keep(last=2, days=None))), wake_at=stage.later(DAY))
        assert await prune_all(stage) == 7

    @scenario
    async def test_what_grows_old_is_forgotten_within_a_thirtieth_of_its_time(self, stage: Stage) -> None:
        attempts = [ended(stage.now - n * DAY) for n in range(8, -1, -1)]
        await remember(stage, attempts, Keep(last=None, days=30))
        assert await prune_all(stage) == 0
        for _ in range(40):
            await stage.advance(DAY)
            await prune_all(stage)
            oldest = min(attempt.scheduled_for for attempt in await stage.runs())
            assert oldest == attempts[-1].scheduled_for or stage.now - oldest <= 31 * DAY
        assert await stage.runs() == (attempts[-1],)

    @pytest.mark.parametrize(("keep", "kept"), [(Keep(last=None, days=2), 2), (Keep(last=3, days=None), 3)])
    @scenario
    async def test_skips_are_pruned_like_runs(self, stage: Stage, keep: Keep, kept: int) -> None:
        await stage.declare(a_job(policy=Policy(keep=keep)), wake_at=stage.later(DAY))
        skips = [Skip(KEY, stage.now - days * DAY, stage.now - days * DAY, "") for days in range(9, 0, -1)]
        await stage.store.update(KEY, write_down(skips=skips))
        assert await prune_all(stage) == 9 - kept
        assert await stage.skips(KEY) == tuple(skips[-kept:])

    @scenario
    async def test_each_jobs_own_policy_counts(self, stage: Stage) -> None:
        attempts = [ended(stage.now - hours * HOUR) for hours in (3, 2, 1)]
        await remember(stage, attempts, Keep(last=1, days=None))
        await stage.declare(a_job("other", policy=Policy(keep=ALL)), wake_at=stage.later(DAY))
        others = [attempt._replace(job=f"{SOURCE}/other") for attempt in attempts]
        await stage.store.update(f"{SOURCE}/other", write_down(others, last_run=others[-1].run_key))
        assert await prune_all(stage) == 2
        assert len(await stage.runs(job=KEY)) == 1
        assert len(await stage.runs(job=f"{SOURCE}/other")) == 3

    @scenario
    async def test_pruning_leaves_jobs_and_skips_of_yesterday_alone(self, stage: Stage) -> None:
        await stage.declare(a_job(policy=Policy(keep=Keep(last=1, days=1))), wake_at=stage.later(DAY))
        skip = Skip(KEY, stage.now - HOUR, stage.now - HOUR, "missed")
        await stage.store.update(KEY, write_down(skips=[skip]))
        before = await stage.record(KEY)
        assert await prune_all(stage) == 0
        assert await stage.record(KEY) == before
        assert await stage.skips(KEY) == (skip,)

    @pytest.mark.parametrize("limit", [0, 1])
    @scenario
    async def test_an_empty_store_has_nothing_to_prune(self, stage: Stage, limit: int) -> None:
        assert await stage.store.prune(stage.now, limit) == Pruned()
        assert await stage.store.recover(limit, stage.now, lose) == Recovered()
