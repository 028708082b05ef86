"""Reconciling: the store agrees with a source, all or nothing (rule 6)."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from foliot.engine.planner import plan_due
from foliot.errors import StaleRevisionError
from foliot.model.attempt import AttemptState
from foliot.model.decision import Decision, Event
from foliot.model.job import Action, Job
from foliot.model.state import Record, Skip
from foliot.protocols import Changes, JobQuery, Store
from foliot.schedules import Every
from foliot.testing.contract.concurrent_writer import ConcurrentWriter
from foliot.testing.contract.process import kill_at_work
from foliot.testing.contract.sample import (
    HOUR,
    MINUTE,
    SOURCE,
    a_job,
    bury_job,
    change,
    declare_at,
    forget,
    keep,
    keys_of,
    some_jobs,
    start_due,
    untouched,
)
from foliot.testing.contract.stage import Contract, Stage, scenario

KEY = f"{SOURCE}/job"


async def to_revision(
    stage: Stage, base: str | None, revision: str, *jobs: Job, removed: tuple[str, ...] = ()
) -> Sequence[Event]:
    """Reconcile the usual source."""
    return await stage.store.reconcile(
        SOURCE, base, revision, Changes(jobs, removed),
        declared=declare_at(stage.now, stage.now), removed=bury_job(stage.now),
    )  # fmt: skip


class ReconcileContract(Contract):
    """Declared, changed, the same, removed, back again; and two who disagree."""

    @scenario
    async def test_jobs_are_declared_and_the_revision_is_kept(self, stage: Stage) -> None:
        jobs = some_jobs(3)
        assert await stage.store.revision(SOURCE) is None
        events = await to_revision(stage, None, "r1", *jobs)
        assert sorted(event.job for event in events) == keys_of(jobs)
        assert await stage.store.revision(SOURCE) == "r1"
        assert [(await stage.record(job.key)).job for job in jobs] == list(jobs)

    @scenario
    async def test_the_same_revision_again_changes_nothing(self, stage: Stage) -> None:
        await to_revision(stage, None, "r1", a_job())
        before = await stage.record(KEY)
        for base in (None, "r1", "r0"):
            assert await to_revision(stage, base, "r1", a_job(queue="other"), removed=("job",)) == ()
        assert await stage.record(KEY) == before

    @pytest.mark.parametrize(("found", "base"), [("r1", None), ("r1", "r0"), (None, "r0")])
    @scenario
    async def test_a_base_that_is_not_there_is_refused(
        self, stage: Stage, found: str | None, base: str | None
    ) -> None:
        if found is not None:
            await to_revision(stage, None, found, a_job("old"))
        with pytest.raises(StaleRevisionError) as refusal:
            await to_revision(stage, base, "r2", a_job("new"), removed=("old",))
        assert (refusal.value.details["base"], refusal.value.details["found"]) == (base, found)
        assert await stage.store.revision(SOURCE) == found
        assert await stage.keys() == ([f"{SOURCE}/old"] if found else [])

    @scenario
    async def test_nodes_at_different_revisions_converge(self, stage: Stage) -> None:
        await to_revision(stage, None, "r1", a_job("one"))
        await to_revision(stage, "r1", "r2", a_job("two"), removed=("one",))
        with pytest.raises(StaleRevisionError):
            await to_revision(stage, "r1", "r3", a_job("three"), removed=("one",))
        base = await stage.store.revision(SOURCE)
        await to_revision(stage, base, "r3", a_job("three"), removed=("two",))
        assert await to_revision(stage, "r2", "r3", a_job("three"), removed=("two",)) == ()
        assert await stage.keys() == [f"{SOURCE}/three"]

    @scenario
    async def test_of_four_who_change_the_same_base_one_wins(self, stage: Stage) -> None:
        await to_revision(stage, None, "r1", *some_jobs(10))
        revisions = ["ra", "rb", "rc", "rd"]
        answers = await asyncio.gather(
            *(to_revision(stage, "r1", name, *some_jobs(10, queue=name)) for name in revisions),
            return_exceptions=True,
        )
        won = await stage.store.revision(SOURCE)
        assert [isinstance(a, StaleRevisionError) for a in answers] == [name != won for name in revisions]
        records = [await stage.record(job.key) for job in some_jobs(10)]
        assert {record.job.queue for record in records} == {won}

    @scenario
    async def test_sources_do_not_touch_each_other(self, stage: Stage) -> None:
        await stage.declare(a_job(source="a"), source="a")
        await stage.declare(a_job(source="ab"), a_job("job2", source="ab"), source="ab")
        revision = await stage.store.revision("ab")
        await stage.store.reconcile(
            "a", await stage.store.revision("a"), "gone", Changes(removed=("job", "job2")),
            declared=keep, removed=forget,
        )  # fmt: skip
        assert await stage.keys(with_removed=True) == ["ab/job", "ab/job2"]
        assert await stage.store.revision("ab") == revision
        assert await stage.store.revision("b") is None

    # -- all or nothing ----------------------------------------------------------------------------

    @pytest.mark.parametrize("failing", ["declared", "removed"])
    @scenario
    async def test_a_decision_that_fails_leaves_everything_as_it_was(
        self, stage: Stage, failing: str
    ) -> None:
        await to_revision(stage, None, "r1", *some_jobs(5), a_job("gone"))
        before = await stage.store.jobs(_all())

        def declared(job: Job, record: Record | None) -> Decision:
            if failing == "declared" and job.name == "job-0003":
                raise ArithmeticError(job.name)
            return declare_at(None, stage.now)(job, record)

        def removed(record: Record) -> Decision:
            raise ArithmeticError(record.job.name)

        changes = Changes((*some_jobs(5, queue="new"), a_job("new")), ("gone",))
        with pytest.raises(ArithmeticError):
            await stage.store.reconcile(SOURCE, "r1", "r2", changes, declared=declared, removed=removed)
        assert await stage.store.jobs(_all()) == before
        assert await stage.store.revision(SOURCE) == "r1"
        await stage.join("a")
        assert len(await stage.claim_all("a")) == 6, "what was due is still due"

    @scenario
    async def test_a_thousand_jobs_are_one_step(self, stage: Stage) -> None:
        jobs = some_jobs(1000)
        events = await to_revision(stage, None, "r1", *jobs)
        assert len(events) == 1000
        assert await stage.keys() == keys_of(jobs)
        await to_revision(stage, "r1", "r2", *jobs[:1], removed=tuple(job.name for job in jobs[1:]))
        assert await stage.keys() == keys_of(jobs[:1])
        assert (await stage.overview()).jobs == 1

    @pytest.mark.parametrize("milliseconds", [0, 3, 10, 30, 100])
    @scenario
    async def test_a_process_killed_in_the_middle_leaves_the_old_or_the_new(
        self, stage: Stage, milliseconds: int
    ) -> None:
        if stage.sharing is None:
            pytest.skip("this store cannot be shared between processes")
        jobs = some_jobs(1000, queue="old")
        await to_revision(stage, None, "old", *jobs)
        work = {"declare": {"base": "old", "revision": "new", "count": len(jobs)}}
        await kill_at_work(stage.sharing, stage.now, work, timedelta(milliseconds=milliseconds))
        await stage.join("a")
        started = {queue: await self._drain(stage, queue) for queue in ("old", "new")}
        found = await stage.store.revision(SOURCE)
        assert started == {"old": 1000 * (found == "old"), "new": 1000 * (found == "new")}

    async def _drain(self, stage: Stage, queue: str) -> int:
        count = 0
        while attempts := await stage.claim("a", {queue: 1000}):
            count += len(attempts)
        return count

    # -- what becomes of a job ---------------------------------------------------------------------

    @scenario
    async def test_an_unchanged_job_is_untouched(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job(), a_job("other"))
        await stage.claim("a", {"default": 1})
        before = await stage.store.jobs(_all())
        base = await stage.store.revision(SOURCE)
        changes = Changes((a_job(), a_job("other")))
        events = await stage.store.reconcile(SOURCE, base, "r2", changes, declared=keep, removed=untouched)
        assert events == ()
        assert await stage.store.jobs(_all()) == before

    @scenario
    async def test_the_planner_leaves_unchanged_jobs_alone(self, stage: Stage) -> None:
        await stage.plan(a_job(), a_job("changes"))
        before = await stage.record(KEY)
        await stage.advance(MINUTE)
        changed = a_job("changes", schedule=Every(MINUTE))
        await stage.plan(a_job(), changed)
        assert await stage.record(KEY) == before
        assert (await stage.record(changed.key)).job == changed

    @scenario
    async def test_a_changed_definition_is_what_runs_next(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job())
        action = Action(kind="test", data={"version": 2})
        await stage.declare(a_job(action=action))
        claimed = await stage.claim_whole("a")
        assert [job.action for job, _ in claimed.runs] == [action]

    @scenario
    async def test_a_definition_can_change_while_the_state_does_not(self, stage: Stage) -> None:
        await stage.declare(a_job())
        before = await stage.record(KEY)
        changed = a_job(action=Action(kind="test", data={"version": 2}), revision="2")
        base = await stage.store.revision(SOURCE)
        await stage.store.reconcile(SOURCE, base, "r2", Changes((changed,)), declared=keep, removed=untouched)
        assert await stage.record(KEY) == before._replace(job=changed)

    @scenario
    async def test_a_job_that_changes_its_queue_leaves_the_old_one(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job(queue="old"))
        base = await stage.store.revision(SOURCE)
        changes = Changes((a_job(queue="new"),))
        await stage.store.reconcile(SOURCE, base, "r2", changes, declared=keep, removed=untouched)
        assert (await stage.store.wakes(["old"])).first is None
        assert (await stage.store.wakes(["new"])).first == stage.now
        assert await stage.claim("a", {"old": 1}) == []
        assert len(await stage.claim("a", {"new": 1})) == 1

    @scenario
    async def test_what_runs_goes_on_when_its_job_changes(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.declare(a_job(queue="other", action=Action(kind="other")))
        assert (await stage.record(KEY)).attempts == (attempt,)
        assert (await stage.finish("a", attempt)).refused == ()

    @scenario
    async def test_a_removed_job_becomes_a_tombstone(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await to_revision(stage, await stage.store.revision(SOURCE), "r2", removed=("job", "never was"))
        assert await stage.keys() == []
        assert await stage.keys(with_removed=True) == [KEY]
        record = await stage.record(KEY)
        assert record.state.removed_at == stage.now
        assert record.attempts == (attempt,), "what runs may end"
        assert (await stage.finish("a", attempt)).refused == ()
        assert len(await stage.runs(job=KEY)) == 1

    @scenario
    async def test_a_job_that_comes_back_remembers_what_it_served(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.plan(a_job())
        await stage.advance(HOUR)
        (attempt,) = await stage.claim("a", decide=plan_due)
        await stage.plan(removed=("job",))
        await stage.plan(a_job())
        record = await stage.record(KEY)
        assert (record.state.removed_at, record.state.served_until) == (None, stage.now)
        assert record.state.token > attempt.token
        assert record.attempts == (attempt,)

    @scenario
    async def test_a_job_that_is_forgotten_leaves_nothing(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.finish("a", attempt)
        skip = Skip(KEY, stage.now, stage.now, "missed")
        await stage.store.update(KEY, lambda record: change()(record)._replace(skips=(skip,)))
        base = await stage.store.revision(SOURCE)
        await stage.store.reconcile(
            SOURCE, base, "r2", Changes(removed=("job",)), declared=keep, removed=forget
        )
        assert await stage.keys(with_removed=True) == []
        assert await stage.runs() == ()
        assert (await stage.store.wakes(["default"])).first is None
        await stage.declare(a_job())
        assert await stage.runs() == ()
        assert await stage.skips(KEY) == ()

    # -- in the middle of a decision ---------------------------------------------------------------

    @scenario
    async def test_a_claim_in_the_middle_is_not_overwritten(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(5))
        claimed: list[str] = []

        async def write(store: Store) -> None:
            answer = await store.claim("a", stage.now, {"default": 9, "new": 9}, start_due, "a's")
            claimed.extend(attempt.job for _, attempt in answer.runs)

        writer = ConcurrentWriter(stage, write)
        declared = writer.during(declare_at(stage.later(HOUR), stage.now))
        changes = Changes(some_jobs(5, queue="new"))
        base = await stage.store.revision(SOURCE)
        await stage.store.reconcile(SOURCE, base, "r2", changes, declared=declared, removed=untouched)
        await writer.ended()
        records = [await stage.record(job.key) for job in some_jobs(5)]
        assert {record.job.queue for record in records} == {"new"}
        running = [a.job for r in records for a in r.attempts if a.state is AttemptState.RUNNING]
        assert running == sorted(claimed)
        assert {record.state.wake_at for record in records} == {stage.later(HOUR)}

    @scenario
    async def test_another_revision_in_the_middle_makes_one_of_them_stale(self, stage: Stage) -> None:
        await to_revision(stage, None, "r1", *some_jobs(5))
        answers: list[str] = []

        async def reconcile(store: Store, revision: str, writer: ConcurrentWriter | None) -> None:
            declared = declare_at(stage.now, stage.now)
            changes = Changes(some_jobs(5, queue=revision))
            try:
                await store.reconcile(
                    SOURCE, "r1", revision, changes,
                    declared=writer.during(declared) if writer else declared, removed=untouched,
                )  # fmt: skip
                answers.append(revision)
            except StaleRevisionError:
                pass  # the other one won

        writer = ConcurrentWriter(stage, lambda store: reconcile(store, "theirs", None))
        await reconcile(stage.store, "ours", writer)
        await writer.ended()
        assert answers == [await stage.store.revision(SOURCE)]
        records = [await stage.record(job.key) for job in some_jobs(5)]
        assert {record.job.queue for record in records} == set(answers)


def _all() -> JobQuery:
    return JobQuery(with_removed=True, limit=10_000)
