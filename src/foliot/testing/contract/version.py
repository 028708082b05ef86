"""Versions: the definitions that a job has had are kept, and each attempt knows the one that started it."""

# ruff: noqa: S101 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from datetime import timedelta

import pytest

from foliot.engine.plan_command import Pause, Resume, RunNow, plan_command
from foliot.engine.planner import plan_due, plan_ended
from foliot.errors import StaleRevisionError
from foliot.model.attempt import Outcome
from foliot.model.job import Action
from foliot.model.policy import Policy, Retry
from foliot.model.version import KEPT_VERSIONS, Version
from foliot.protocols import Changes, SkipQuery
from foliot.schedules import Every, Once
from foliot.testing.contract.sample import DAY, HOUR, MINUTE, SECOND, SOURCE, a_job, declare_at, some_jobs
from foliot.testing.contract.stage import Contract, Stage, scenario

KEY = f"{SOURCE}/job"


async def numbers(stage: Stage, key: str = KEY) -> list[int]:
    """The numbers of the versions of a job."""
    return [version.number for version in await stage.versions(key)]


class VersionContract(Contract):
    """What a definition said stays known when it has changed."""

    @scenario
    async def test_of_a_name_that_is_declared_twice_the_last_counts(self, stage: Stage) -> None:
        for rule in (Every(MINUTE), Every(DAY)):
            await stage.plan(a_job(schedule=Every(SECOND)), a_job("other"), a_job(schedule=rule))
            await stage.advance(SECOND)
        found = await stage.versions(KEY)
        assert [(one.number, one.job and one.job.schedule) for one in found] == [
            (2, Every(DAY)),
            (1, Every(MINUTE)),
        ]
        assert len(await stage.versions(f"{SOURCE}/other")) == 1
        assert (await stage.record(KEY)).job.schedule == Every(DAY)

    @scenario
    async def test_a_job_that_is_new_has_one_version(self, stage: Stage) -> None:
        await stage.plan(a_job())
        assert await stage.versions(KEY) == (Version(1, a_job(), stage.now),)
        assert await stage.versions(f"{SOURCE}/unknown") == ()

    @scenario
    async def test_a_definition_that_changes_is_kept_with_its_time(self, stage: Stage) -> None:
        first = a_job(action=Action(kind="test", data={"x": ["ü", 1]}), policy=Policy(timeout=HOUR))
        second = a_job(schedule=Every(2 * HOUR), queue="other")
        created_at = stage.now
        await stage.plan(first)
        await stage.advance(HOUR)
        changed_at = stage.now
        await stage.plan(second)
        revision = await stage.store.revision(SOURCE)
        await stage.advance(HOUR)
        assert await stage.versions(KEY) == (
            Version(2, second, changed_at),
            Version(1, first, created_at, changed_at, revision),
        )
        state = (await stage.record(KEY)).state
        assert (state.version, state.defined_at) == (2, changed_at)

    @scenario
    async def test_what_is_declared_again_unchanged_is_no_version(self, stage: Stage) -> None:
        await stage.plan(a_job(revision="a"))
        await stage.plan(a_job(revision="b"), a_job("other"))
        await stage.store.update(KEY, lambda record: plan_command(record, Pause("why not"), stage.now))
        await stage.plan(a_job(revision="c"))
        assert await stage.versions(KEY) == (Version(1, a_job(revision="c"), stage.now),)

    @scenario
    async def test_a_job_that_was_removed_and_comes_back_goes_on_counting(self, stage: Stage) -> None:
        created_at = stage.now
        await stage.plan(a_job())
        await stage.advance(HOUR)
        removed_at = stage.now
        await stage.plan(removed=("job",))
        gone = Version(1, a_job(), created_at, removed_at, await stage.store.revision(SOURCE))
        assert await stage.versions(KEY) == (gone,)
        await stage.advance(HOUR)
        await stage.plan(a_job())
        assert await stage.versions(KEY) == (Version(2, a_job(), stage.now), gone)

    @scenario
    async def test_a_job_that_has_removed_itself_is_kept_when_it_comes_back(self, stage: Stage) -> None:
        await stage.join("a")
        once, began_at = a_job(schedule=Once(stage.later(MINUTE)), auto_remove=True), stage.now
        await stage.plan(once)
        await stage.advance(MINUTE)
        (attempt,) = await stage.claim("a", decide=plan_due)
        await stage.finish("a", attempt, decide=plan_ended)
        ended_at = stage.now
        assert await stage.versions(KEY) == (Version(1, once, began_at, ended_at),)
        await stage.advance(HOUR)
        again = a_job(schedule=Once(stage.later(HOUR)), auto_remove=True)
        await stage.plan(again)
        assert await stage.versions(KEY) == (
            Version(2, again, stage.now), Version(1, once, began_at, ended_at)
        )  # fmt: skip

    @scenario
    async def test_the_newest_twenty_are_kept_beside_the_present_one(self, stage: Stage) -> None:
        last = KEPT_VERSIONS + 5
        for number in range(1, last + 1):
            data = {"number": number}
            await stage.plan(a_job(action=Action(kind="test", data=data)), a_job("other"))
        assert await numbers(stage) == list(range(last, last - KEPT_VERSIONS - 1, -1))
        assert await numbers(stage, f"{SOURCE}/other") == [1]
        kept = await stage.versions(KEY)
        assert [version.job and version.job.action.data["number"] for version in kept] == await numbers(stage)

    @scenario
    async def test_a_job_that_is_forgotten_begins_anew(self, stage: Stage) -> None:
        forgetful = Policy(remembers=False)
        await stage.plan(a_job(policy=forgetful))
        await stage.plan(a_job(policy=forgetful, queue="other"))
        await stage.plan(removed=("job",))
        assert await stage.versions(KEY) == ()
        await stage.plan(a_job(policy=forgetful))
        assert await stage.versions(KEY) == (Version(1, a_job(policy=forgetful), stage.now),)

    @scenario
    async def test_a_revision_that_is_refused_ends_no_version(self, stage: Stage) -> None:
        await stage.plan(a_job())
        with pytest.raises(StaleRevisionError):
            await stage.store.reconcile(
                SOURCE, "other", "next", Changes((a_job(queue="q"),)),
                declared=declare_at(None, stage.now), removed=lambda _: pytest.fail("nothing is removed"),
            )  # fmt: skip
        assert await stage.versions(KEY) == (Version(1, a_job(), stage.now),)

    @scenario
    async def test_an_attempt_knows_the_version_that_started_it(self, stage: Stage) -> None:
        await stage.join("a")
        jobs = some_jobs(3, schedule=Every(HOUR))
        await stage.plan(*jobs)
        for number in (1, 2):
            await stage.advance(HOUR)
            started = await stage.claim("a", decide=plan_due)
            await stage.finish("a", *started, decide=plan_ended)
            assert [attempt.version for attempt in started] == [number] * 3
            await stage.plan(*(a_job(job.name, schedule=Every(HOUR), queue="default", action=Action(
                kind="test", data={"number": number}
            )) for job in jobs))  # fmt: skip
        assert [attempt.version for attempt in await stage.runs()] == [2] * 3 + [1] * 3

    @scenario
    async def test_a_run_has_its_payload_in_all_its_attempts(self, stage: Stage) -> None:
        await stage.join("a")
        retry = Policy(retry=Retry(max=1, delay=timedelta(0)))
        await stage.plan(a_job(policy=retry))
        payload = '{"größe":[1,2],"text":"a \\"b\\""}'
        command = RunNow("r", payload=payload)
        await stage.store.update(KEY, lambda record: plan_command(record, command, stage.now))
        (first,) = await stage.claim("a", decide=plan_due)
        await stage.finish("a", first, decide=plan_ended, outcome=Outcome.FAILED)
        await stage.advance(MINUTE)
        (second,) = await stage.claim("a", decide=plan_due)
        assert (first.payload, second.payload, second.number) == (payload, payload, 2)
        assert [attempt.payload for attempt in await stage.runs(job=KEY)] == [payload] * 2
        assert [attempt.payload for attempt in await stage.store.held("a")] == [payload]

    @scenario
    async def test_a_pause_keeps_its_reason_until_the_job_is_resumed(self, stage: Stage) -> None:
        await stage.plan(a_job())
        for command, reason in ((Pause("größer"), "größer"), (Resume(), None), (Pause(), None)):
            await stage.store.update(KEY, lambda record, c=command: plan_command(record, c, stage.now))  # type: ignore[misc] # mypy knows no such default
            assert (await stage.record(KEY)).state.paused_reason == reason

    @scenario
    async def test_a_pause_with_an_end_is_over_by_itself(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.plan(a_job(schedule=Every(HOUR)))
        until = stage.later(3 * HOUR)
        await stage.store.update(KEY, lambda record: plan_command(record, Pause("größer", until), stage.now))
        paused = (await stage.record(KEY)).state
        assert (paused.paused_at, paused.paused_until, paused.wake_at) == (stage.now, until, until)
        await stage.advance(2 * HOUR)
        await stage.join("a")
        assert await stage.claim("a", decide=plan_due) == []
        await stage.plan(a_job(schedule=Every(HOUR)), a_job("other"))
        assert (await stage.record(KEY)).state == paused
        await stage.advance(HOUR)
        await stage.join("a")
        started = [one for one in await stage.claim("a", decide=plan_due) if one.job == KEY]
        after = (await stage.record(KEY)).state
        assert (after.paused_at, after.paused_until, after.paused_reason) == (None, None, None)
        assert [attempt.scheduled_for for attempt in started] == [until], "the one at its end is not skipped"
        skips = await stage.store.skips(SkipQuery(KEY))
        assert [skip.reason for skip in skips] == ["the job was paused"]
        assert skips[0].last < until
