"""Herds: jobs that are alike may be started and ended together, and nothing tells that they were.

A store that never asks for `alike` keeps this contract by itself. One that does must leave what the planner
decides for each job alone: the memory store does that, so it is the model here.
"""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import cast

import pytest

from foliot.engine.plan_command import Command, Pause, Resume, RunNow, plan_command
from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.errors import CommandRefusedError
from foliot.model.attempt import Attempt, Outcome
from foliot.model.decision import Event
from foliot.model.job import Action, Job
from foliot.model.policy import FirstSeen, Keep, Overlap, OverlapMode, Policy, Retry
from foliot.model.run import Run
from foliot.model.splay import offset_of
from foliot.model.state import Node, Record
from foliot.protocols import Changes, JobQuery, RunQuery, SourceStore, Store
from foliot.schedules import Cron, Every, Once, Schedule
from foliot.stores.memory import MemoryStore
from foliot.testing.contract.sample import HOUR, MINUTE, SECOND, SOURCE, a_job, keys_of, some_jobs
from foliot.testing.contract.stage import Contract, Stage, scenario

ROOM = {"default": 1000}
_USUAL, _AT_ONCE = Policy(), Policy(first_seen=FirstSeen.NOW)
WAITS = Overlap(mode=OverlapMode.WAIT)


class _Lived:
    """A store, what one node holds of it, and the steps that tests let it take."""

    def __init__(self, stage: Stage, store: Store) -> None:
        self._stage = stage
        self._store = store
        self._claims = 0
        self.held: dict[str, Run] = {}

    async def begin(self, jobs: Sequence[Job]) -> None:
        now = self._stage.now
        await self._store.join(Node("a"))
        await self._store.reconcile(
            SOURCE, None, "r1", Changes(tuple(jobs)),
            declared=PlanDeclared(now),
            removed=lambda record: plan_removed(record, now),
        )  # fmt: skip

    async def claim(self) -> None:
        await self._store.renew("a")
        while True:
            self._claims += 1
            claimed = await self._store.claim("a", self._stage.now, ROOM, plan_due, f"c{self._claims}")
            self.held |= {run.key[0]: run for run in claimed.runs}
            if not claimed.more and not claimed.runs:
                return

    async def finish(self, ends: Sequence[tuple[str, Outcome]]) -> list[str]:
        """Report ends; the runs that were refused."""
        now = self._stage.now
        endings = [self.held[key].ending(outcome, now, now) for key, outcome in ends]
        finished = await self._store.finish("a", endings, now, plan_ended)
        for key, _ in ends:
            del self.held[key]
        return [refused.ending.run_key for refused in finished.refused]

    async def command(self, job: str, command: Command) -> bool:
        """Do what a person asks for; whether it was refused."""
        now = self._stage.now
        try:
            await self._store.update(job, lambda record: plan_command(record, command, now))
        except CommandRefusedError:
            return True
        return False

    async def look(self) -> tuple[list[Record | None], set[Attempt]]:
        views = await self._store.jobs(JobQuery(limit=1000))
        runs = await self._store.runs(RunQuery(limit=10_000))
        return [view.record for view in views], set(runs)


def _kinds_of_jobs() -> list[Job]:
    """Herds of different rules, and jobs of all kinds between them."""
    keep = Keep(last=None, days=None)
    policies = [
        Policy(keep=keep),
        Policy(keep=keep, timeout=MINUTE),
        Policy(keep=keep, overlap=WAITS),
        Policy(keep=keep, retry=Retry(max=1, delay=SECOND)),
        Policy(keep=keep, splay=HOUR / 30),
    ]
    jobs = []
    for number in range(40):
        schedule = [Cron("* * * * *"), Every(MINUTE), Cron("*/2 * * * *")][number % 3]
        action = Action(kind="test", data={"n": number} if number % 5 else {})
        policy = policies[number % len(policies)]
        jobs.append(a_job(f"job-{number:02}", schedule=schedule, action=action, policy=policy))
    return jobs


class HerdContract(Contract):
    """What is done at once is what would have been done one by one."""

    @pytest.mark.parametrize("seed", range(3))
    @scenario
    async def test_a_store_comes_to_the_same_as_one_that_decides_one_by_one(
        self, stage: Stage, seed: int
    ) -> None:
        chance = Random(seed)  # noqa: S311 - not for secrets
        jobs = _kinds_of_jobs()
        both = [_Lived(stage, stage.store), _Lived(stage, MemoryStore(stage.clock, lease=HOUR))]
        for lived in both:
            await lived.begin(jobs)
        for _ in range(25):
            await stage.clock.advance(MINUTE if chance.random() < 0.8 else 3 * MINUTE)
            for lived in both:
                await lived.claim()
            held = sorted(both[1].held)
            assert sorted(both[0].held) == held
            ends = [(key, _outcome(chance)) for key in held if chance.random() < 0.8]
            job, command = chance.choice(jobs).key, _command(chance, str(_))
            assert await both[0].command(job, command) == await both[1].command(job, command)
            await stage.clock.advance(timedelta(milliseconds=7))
            assert sorted(await both[0].finish(ends)) == sorted(await both[1].finish(ends))
            found, expected = [await lived.look() for lived in both]
            assert found[0] == expected[0]
            assert found[1] == expected[1]

    @pytest.mark.parametrize("seed", range(3))
    @scenario
    async def test_what_is_declared_at_once_is_as_if_it_were_declared_one_by_one(
        self, stage: Stage, seed: int
    ) -> None:
        chance = Random(seed)  # noqa: S311 - not for secrets
        both: list[Store] = [stage.store, MemoryStore(stage.clock)]
        for number in range(12):
            names = chance.sample(range(60), 25)
            changes = Changes(
                tuple(_any_job(chance, f"job-{name}") for name in names[:20]),
                tuple(f"job-{name}" for name in names[20:]),
            )
            told = [await _declared(store, number, changes, stage.now) for store in both]
            assert told[0] == told[1]
            found, expected = [await _definitions(store) for store in both]
            assert found == expected
            await stage.clock.advance(chance.choice([SECOND, MINUTE, HOUR]))

    @scenario
    async def test_of_two_new_jobs_of_one_name_the_last_counts(self, stage: Stage) -> None:
        jobs = a_job(), a_job("other"), a_job(queue="last"), a_job("other")
        await stage.plan(*jobs)
        assert (await stage.record(f"{SOURCE}/job")).job == jobs[2]
        assert await stage.keys() == keys_of({job.key: job for job in jobs}.values())

    @scenario
    async def test_jobs_of_one_definition_with_a_splay_start_each_in_its_time(self, stage: Stage) -> None:
        await _begin(stage)
        jobs = some_jobs(20, schedule=Once(stage.later(MINUTE)), policy=Policy(splay=10 * MINUTE))
        await stage.plan(*jobs)
        await stage.advance(MINUTE)
        begin = stage.now
        for job in sorted(jobs, key=offset_of):
            await stage.advance(max(timedelta(0), begin + offset_of(job) - SECOND - stage.now))
            earlier = await stage.claim_whole("a", decide=plan_due)
            assert job.key not in {run.attempt.job for run in earlier.runs}
            await stage.advance(begin + offset_of(job) - stage.now)
            claimed = await stage.claim_whole("a", decide=plan_due)
            assert {run.attempt.scheduled_for for run in claimed.runs} <= {begin}
            assert job.key in {attempt.job for attempt in await stage.runs()}

    @scenario
    async def test_runs_of_a_herd_are_told_like_any_other(self, stage: Stage) -> None:
        await _begin(stage)
        await stage.plan(*some_jobs(5, schedule=Once(stage.later(MINUTE)), policy=Policy(timeout=HOUR)))
        await stage.advance(MINUTE)
        claimed = await stage.claim_whole("a", decide=plan_due)
        assert [run.attempt for run in claimed.runs] == [event.attempt for event in claimed.events]
        assert [run.job for run in claimed.runs] == [
            (await stage.record(run.attempt.job)).job for run in claimed.runs
        ]
        assert {run.attempt for run in claimed.runs} == set(await stage.runs())
        endings = [run.ending(Outcome.SUCCEEDED, stage.now, stage.now) for run in claimed.runs]
        finished = await stage.store.finish("a", endings, stage.now, plan_ended)
        assert finished.refused == ()
        assert {event.attempt for event in finished.events} == set(await stage.runs())
        assert {event.reason for event in finished.events} == {"succeeded"}

    @scenario
    async def test_an_end_counts_once(self, stage: Stage) -> None:
        await _begin(stage)
        await stage.plan(*some_jobs(3))
        await stage.advance(HOUR)
        runs = (await stage.claim_whole("a", decide=plan_due)).runs
        endings = [run.ending(Outcome.SUCCEEDED, stage.now, stage.now) for run in runs]
        first = await stage.store.finish("a", endings[:2], stage.now, plan_ended)
        second = await stage.store.finish("a", endings, stage.now, plan_ended)
        assert first.refused == ()
        assert [refused.ending.run_key for refused in second.refused] == [e.run_key for e in endings[:2]]
        assert len(second.events) == 1

    @scenario
    async def test_what_was_decided_meanwhile_is_not_overlooked(self, stage: Stage) -> None:
        """A job whose run is busy past its next occurrence, one that is paused, one that is removed."""
        await _begin(stage)
        jobs = some_jobs(4, policy=Policy(overlap=WAITS, remembers=False))
        await stage.plan(*jobs)
        await stage.advance(HOUR)
        runs = (await stage.claim_whole("a", decide=plan_due)).runs
        assert len(runs) == 4
        await stage.store.update(jobs[1].key, lambda record: plan_command(record, Pause(), stage.now))
        await stage.plan(removed=(jobs[2].name,))
        await stage.advance(HOUR)
        await stage.claim_whole("a", decide=plan_due)
        endings = [run.ending(Outcome.SUCCEEDED, stage.now, stage.now) for run in runs]
        finished = await stage.store.finish("a", endings, stage.now, plan_ended)
        assert finished.refused == ()
        assert jobs[2].key not in await stage.keys(with_removed=True)
        assert (await stage.record(jobs[1].key)).state.paused_at is not None
        again = [run.attempt.job for run in (await stage.claim_whole("a", decide=plan_due)).runs]
        assert sorted(again) == [jobs[0].key, jobs[3].key], "what waited for the end starts"

    @scenario
    async def test_a_job_that_is_to_remove_itself_now_does_so_when_its_last_run_ends(
        self, stage: Stage
    ) -> None:
        await _begin(stage)
        jobs = some_jobs(3, schedule=Once(stage.later(MINUTE)))
        await stage.plan(*jobs)
        await stage.advance(MINUTE)
        runs = (await stage.claim_whole("a", decide=plan_due)).runs
        await stage.plan(replace(jobs[1], auto_remove=True))
        endings = [run.ending(Outcome.SUCCEEDED, stage.now, stage.now) for run in runs]
        assert (await stage.store.finish("a", endings, stage.now, plan_ended)).refused == ()
        states = [(await stage.record(job.key)).state.removed_at for job in jobs]
        assert states == [None, stage.now, None]

    @scenario
    async def test_the_answer_to_a_claim_that_was_asked_again_has_the_same_runs(self, stage: Stage) -> None:
        await _begin(stage)
        await stage.plan(*some_jobs(3))
        await stage.advance(HOUR)
        first = await stage.claim_whole("a", decide=plan_due, claim_id="c")
        again = await stage.claim_whole("a", decide=plan_due, claim_id="c")
        assert [run.attempt for run in again.runs] == [run.attempt for run in first.runs]
        endings = [run.ending(Outcome.SUCCEEDED, stage.now, stage.now) for run in again.runs]
        assert (await stage.store.finish("a", endings, stage.now, plan_ended)).refused == ()


def _any_job(chance: Random, name: str) -> Job:
    """One of some herds, or a job of another kind; the first look may be due at once."""
    rules: list[Schedule] = [Every(HOUR), Cron("0 12 * * *"), Cron("* * * * *"), Once("2026-01-01T00:00:30Z")]
    return a_job(
        name,
        schedule=chance.choice(rules),
        action=Action(kind="test", data=chance.choice([{}, {"n": name}, {"n": [1, {"x": "\u00fc"}]}])),
        queue=chance.choice(["default", "default", "other"]),
        policy=chance.choice([_USUAL, _AT_ONCE, Policy(remembers=False)]),
        enabled=chance.random() < 0.9,
        auto_remove=chance.random() < 0.2,
    )


async def _declared(store: Store, number: int, changes: Changes, now: datetime) -> list[Event]:
    """What a revision tells, in an order that does not matter."""
    base = f"r{number - 1}" if number else None
    events = await store.reconcile(
        SOURCE, base, f"r{number}", changes,
        declared=PlanDeclared(now), removed=lambda record: plan_removed(record, now),
    )  # fmt: skip
    assert len(events) == len(list(events))
    return sorted(events, key=lambda event: (event.job, event.what))


async def _definitions(store: Store) -> list[object]:
    """All that a store knows of what was declared."""
    views = await store.jobs(JobQuery(with_removed=True, limit=1000))
    sources = cast("SourceStore", store)
    versions = [await sources.versions(view.key) for view in views]
    revisions = await sources.revisions(SOURCE)
    wakes = [await store.wakes([queue], ["test"]) for queue in ("default", "other")]
    return [views, versions, revisions, wakes]


async def _begin(stage: Stage) -> None:
    """A node joins, and claims in vain: a store may go the careful way in its first claim."""
    await stage.join("a")
    assert (await stage.claim_whole("a", decide=plan_due)).runs == ()


def _outcome(chance: Random) -> Outcome:
    return Outcome.FAILED if chance.random() < 0.15 else Outcome.SUCCEEDED


def _command(chance: Random, request: str) -> Command:
    commands: list[Command] = [Pause(), Resume(), RunNow(request)]
    return chance.choice(commands)
