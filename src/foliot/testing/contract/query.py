"""Questions: what is shown is what is stored, in an order that pages can rely on."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foliot.model.attempt import Attempt, Outcome
from foliot.model.job import Action
from foliot.model.policy import Keep, Misfire, MisfireMode, Overlap, OverlapMode, Policy, Retry
from foliot.model.view import Lane, Overview
from foliot.protocols import JobQuery
from foliot.schedules import Cron, Every, Once
from foliot.testing.contract.sample import (
    HOUR,
    MINUTE,
    SECOND,
    SOURCE,
    TICK,
    a_job,
    change,
    end,
    forget,
    keys_of,
    open_pending,
    some_jobs,
)
from foliot.testing.contract.stage import Contract, Stage, scenario

KEY = f"{SOURCE}/job"

# Each of them is somebody's syntax: JSON, SQL, LIKE, Lua, key patterns, hash tags, document paths, HTML.
HOSTILE = (
    "plain",
    "Plain",
    "plain ",
    "with space",
    "sla/sh/es",
    'quo"te',
    "apo'strophe",
    "back\\slash",
    "per%cent",
    "under_score",
    "under-score",
    "col:on",
    "do.t",
    "$dollar",
    "{hash}tag",
    "{}",
    "*",
    "?",
    "[a-z]",
    "at@2026-01-01T00:00:00Z",
    "bang!request",
    "hash#1",
    "semi;colon--",
    "<b>&amp;",
    "\\u0000",
    "null",
    "0",
    "größe",
    "gro\u0308ße",  # the same to the eye, another name
    "日本語",
    "עברית",
    "🦀🕰️",
    "x" * 200,
)
FAR = {
    "the epoch": datetime(1970, 1, 1, tzinfo=UTC),
    "just after the epoch": datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    "beyond 32 bits": datetime(2038, 1, 19, 3, 14, 8, 999999, tzinfo=UTC),
    "the last moment": datetime.max.replace(tzinfo=UTC),
}


async def run_once(stage: Stage, name: str, outcome: Outcome, wake_at: datetime) -> Attempt:
    """Let a job have a run that ended."""
    await stage.declare(a_job(name), wake_at=wake_at)
    (attempt,) = await stage.claim("a")
    await stage.finish("a", attempt, outcome=outcome)
    return attempt


class QueryContract(Contract):
    """Jobs, runs, the next wake, and the store at a glance."""

    # -- what goes in comes out --------------------------------------------------------------------

    @scenario
    async def test_any_printable_name_is_a_name_like_any_other(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*(a_job(name) for name in HOSTILE))
        keys = sorted(f"{SOURCE}/{name}" for name in HOSTILE)
        assert await stage.keys() == keys
        started = await stage.claim_all("a")
        assert sorted(a.job for a in started) == keys
        for attempt in started:
            assert await stage.keys(keys=frozenset((attempt.job,))) == [attempt.job]
            assert [a.key for a in await stage.runs(job=attempt.job)] == [attempt.key]
            await stage.store.update(attempt.job, change(paused_at=stage.now))
        assert (await stage.finish("a", *started)).refused == ()
        paused = [(await stage.record(key)).state.paused_at for key in keys]
        assert paused == [stage.now] * len(keys)

    @scenario
    async def test_any_printable_name_of_a_queue_source_or_node_will_do(self, stage: Stage) -> None:
        names = [name.replace("/", "|") for name in HOSTILE]
        for name in names:
            await stage.declare(a_job(source=name, queue=name), source=name)
            await stage.join(name)
        for name in names:
            assert await stage.keys(source=name) == [f"{name}/job"]
            assert (await stage.store.wakes([name])).first == stage.now
            (attempt,) = await stage.claim(name, {name: 9}, claim_id=name)
            assert (attempt.job, attempt.node) == (f"{name}/job", name)
            assert await stage.open_keys(name) == {attempt.key}
        assert (await stage.overview()).nodes == tuple(sorted(names))

    @scenario
    async def test_a_definition_is_kept_whole(self, stage: Stage) -> None:
        policy = Policy(
            misfire=Misfire(mode=MisfireMode.ALL, limit=7, grace=timedelta(seconds=90)),
            overlap=Overlap(mode=OverlapMode.PARALLEL, limit=3),
            retry=Retry(max=None, delay="1m30s", backoff=1.5, jitter=0.25, is_preempted=True),
            timeout=timedelta(hours=30),
            keep=Keep(last=None, days=7, problems_only=True),
        )
        data = {"text": "ünï\n\"'\\", "list": [1, -2.5, None, True, {}], "deep": {"a.b": {"$c": ""}}, "": 0}
        jobs = (
            a_job("cron", schedule=Cron("*/5 9-17 * * MON-FRI", timezone="Europe/Berlin")),
            a_job("every", schedule=Every(90 * SECOND), policy=policy, enabled=False, revision="1.2"),
            a_job("once", schedule=Once(stage.later(HOUR)), auto_remove=True, repeat_until=stage.later(HOUR)),
            a_job("data", action=Action(kind="shell/!", data=data), extra={"colour": "blue", "n": [1]}),
        )
        await stage.declare(*jobs)
        assert [(await stage.record(job.key)).job for job in jobs] == list(jobs)

    @pytest.mark.parametrize("at", FAR.values(), ids=FAR)
    @scenario
    async def test_far_times_are_kept_to_the_microsecond(self, stage: Stage, at: datetime) -> None:
        await stage.join("a")
        await stage.declare(a_job(), wake_at=at)
        facts = {"served_until": at, "next_at": at, "last_failure_at": at, "created_at": at}
        await stage.store.update(KEY, change(**facts))
        state = (await stage.record(KEY)).state
        assert state == state._replace(wake_at=at, **facts)  # type: ignore[arg-type]  # the names above
        assert (await stage.store.wakes(["default"])).first == at
        (attempt,) = await stage.claim("a", now=at)
        assert (attempt.scheduled_for, attempt.claimed_at) == (at, at)
        ending = stage.ending(attempt, started_at=at, finished_at=at)
        await stage.store.finish("a", [ending], at, end)
        (found,) = await stage.runs(since=at)
        assert (found.key, found.finished_at) == (attempt.key, at)
        assert found.scheduled_for.utcoffset() == timedelta(0)

    # -- jobs --------------------------------------------------------------------------------------

    @scenario
    async def test_jobs_come_in_pages_in_the_order_of_their_keys(self, stage: Stage) -> None:
        jobs = some_jobs(25)
        await stage.declare(*reversed(jobs))
        found: list[str] = []
        while page := await stage.store.jobs(JobQuery(after=found[-1] if found else "", limit=10)):
            assert len(page) <= 10
            found += (view.key for view in page)
        assert found == keys_of(jobs)

    @scenario
    async def test_jobs_are_found_by_source_and_by_key(self, stage: Stage) -> None:
        for source in ("a", "a-b", "ab", "a_b", "a%"):
            await stage.declare(a_job(source=source), source=source)
        assert await stage.keys(source="a") == ["a/job"]
        assert await stage.keys(source="a%") == ["a%/job"]
        assert await stage.keys(source="a_b") == ["a_b/job"]
        assert await stage.keys(source="nobody") == []
        assert await stage.keys(keys=frozenset(("ab/job", "a/job", "a/nothing"))) == ["a/job", "ab/job"]
        assert await stage.keys(keys=frozenset(("ab/job", "a/job")), source="ab") == ["ab/job"]
        assert await stage.keys(keys=frozenset()) == []

    @scenario
    async def test_jobs_are_found_by_their_name_alone(self, stage: Stage) -> None:
        for source in ("a", "b", "job"):
            await stage.declare(a_job("job", source=source), a_job("a/job", source=source), source=source)
        assert await stage.keys(name="job") == ["a/job", "b/job", "job/job"]
        assert await stage.keys(name="a/job") == ["a/a/job", "b/a/job", "job/a/job"]
        assert await stage.keys(name="job", source="b") == ["b/job"]
        assert await stage.keys(name="job", after="a/job", limit=1) == ["b/job"]
        assert await stage.keys(name="job", keys=frozenset(("a/job", "a/a/job"))) == ["a/job"]
        assert await stage.keys(name="j%b") == []

    @scenario
    async def test_tombstones_are_shown_on_request(self, stage: Stage) -> None:
        await stage.plan(a_job("here"), a_job("gone"))
        await stage.plan(removed=("gone",))
        assert await stage.keys() == [f"{SOURCE}/here"]
        assert await stage.keys(with_removed=True) == [f"{SOURCE}/gone", f"{SOURCE}/here"]
        assert await stage.keys(limit=1) == [f"{SOURCE}/here"], "what is hidden takes no place of a page"

    # -- runs --------------------------------------------------------------------------------------

    @scenario
    async def test_runs_are_shown_newest_first(self, stage: Stage) -> None:
        await stage.join("a")
        times = [stage.now - number * HOUR for number in (3, 1, 2, 0)]
        for number, at in enumerate(times):
            await run_once(stage, f"job-{number}", Outcome.SUCCEEDED, at)
        await stage.declare(a_job("open"), wake_at=stage.now - 90 * MINUTE)
        await stage.claim("a")
        expected = sorted([*times, stage.now - 90 * MINUTE], reverse=True)
        assert [a.scheduled_for for a in await stage.runs()] == expected
        assert [a.scheduled_for for a in await stage.runs(limit=2)] == expected[:2]

    @scenario
    async def test_runs_are_found_by_job_outcome_openness_and_time(self, stage: Stage) -> None:
        await stage.join("a")
        failed = await run_once(stage, "x", Outcome.FAILED, stage.now - 2 * HOUR)
        good = await run_once(stage, "x", Outcome.SUCCEEDED, stage.now - HOUR)
        other = await run_once(stage, "y", Outcome.FAILED, stage.now - HOUR)
        await stage.declare(a_job("x"))
        (running,) = await stage.claim("a")
        await stage.store.update(running.job, open_pending(stage.later(HOUR), "waits"))

        async def found(**query: object) -> set[str]:
            return {attempt.run_key for attempt in await stage.runs(**query)}

        waits = f"{SOURCE}/x!waits"
        assert await found(job=f"{SOURCE}/x") == {failed.run_key, good.run_key, running.run_key, waits}
        assert await found(outcome=Outcome.FAILED) == {failed.run_key, other.run_key}
        assert await found(is_open=True) == {running.run_key, waits}
        assert await found(is_open=False) == {failed.run_key, good.run_key, other.run_key}
        assert await found(since=stage.now - HOUR, is_open=False) == {good.run_key, other.run_key}
        assert await found(job=f"{SOURCE}/x", outcome=Outcome.FAILED) == {failed.run_key}
        assert await found(job=f"{SOURCE}/nothing") == set()

    # -- when to look ------------------------------------------------------------------------------

    @scenario
    async def test_the_next_wake_is_the_earliest_of_the_queues_asked_for(self, stage: Stage) -> None:
        for queue, hours in (("a", 2), ("b", 1), ("c", 3)):
            await stage.declare(a_job(queue, queue=queue), wake_at=stage.later(hours * HOUR))
        await stage.declare(a_job("a2", queue="a"), wake_at=stage.later(5 * HOUR))
        next_wake = stage.next_wake
        assert await next_wake(["a"]) == stage.later(2 * HOUR)
        assert await next_wake(["c", "a"]) == stage.later(2 * HOUR)
        assert await next_wake(queue for queue in "abc") == stage.later(HOUR)
        assert await next_wake(["d"]) is None
        assert await next_wake([]) is None

    @scenario
    async def test_the_next_wake_can_be_asked_for_some_kinds_only(self, stage: Stage) -> None:
        await stage.declare(a_job("shell", action=Action(kind="shell")))
        await stage.declare(a_job("python", action=Action(kind="python")), wake_at=stage.later(HOUR))
        next_wake = stage.next_wake
        assert await next_wake(["default"], None) == stage.now
        assert await next_wake(["default"], ("shell", "python")) == stage.now
        assert await next_wake(["default"], ("python",)) == stage.later(HOUR)
        assert await next_wake(["default"], ("http",)) is None
        assert await next_wake(["default"], ()) is None
        assert await next_wake(["other"], ("shell",)) is None

    @scenario
    async def test_the_next_wake_follows_what_happens(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(2), wake_at=stage.now - SECOND)
        assert (await stage.store.wakes(["default"])).first == stage.now - SECOND
        await stage.claim("a", {"default": 1})
        assert (await stage.store.wakes(["default"])).first == stage.now - SECOND
        (attempt,) = await stage.claim("a", {"default": 1})
        assert (await stage.store.wakes(["default"])).first is None
        await stage.finish("a", attempt)
        assert (await stage.store.wakes(["default"])).first is None
        await stage.store.update(attempt.job, change(wake_at=stage.later(HOUR)))
        assert (await stage.store.wakes(["default"])).first == stage.later(HOUR)

    @scenario
    async def test_the_backlog_is_what_is_due_in_the_queues_and_of_the_kinds_asked_for(
        self, stage: Stage
    ) -> None:
        for number, (queue, kind, wait) in enumerate(
            [
                ("a", "shell", -HOUR),
                ("a", "shell", timedelta(0)),
                ("a", "python", -SECOND),
                ("b", "python", -SECOND),
                ("b", "python", TICK),
            ]
        ):
            job = a_job(f"job-{number}", queue=queue, action=Action(kind=kind))
            await stage.declare(job, wake_at=stage.later(wait))
        now = stage.now
        backlog = stage.backlog
        assert await backlog(["a", "b"], now) == 4
        assert await backlog((queue for queue in "aa"), now) == 3
        assert await backlog(["a", "b"], now, ("shell",)) == 2
        assert await backlog(["b"], now, ("python", "shell")) == 1
        assert await backlog(["b"], now + TICK, ("python",)) == 2
        assert await backlog(["a"], now, ()) == 0
        assert await backlog(["other"], now) == await backlog([], now) == 0

    @scenario
    async def test_the_backlog_follows_what_happens(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(5))

        async def backlog() -> int:
            return (await stage.store.wakes(["default"], due_by=stage.now)).due

        assert await backlog() == 5
        (attempt,) = await stage.claim("a", {"default": 1})
        assert await backlog() == 4
        await stage.finish("a", attempt)
        await stage.store.update(f"{SOURCE}/job-0001", change(paused_at=stage.now))
        assert await backlog() == 4, "whether a job is due is its wake_at, and nothing else"
        await stage.store.update(f"{SOURCE}/job-0001", change(wake_at=stage.later(HOUR)))
        await stage.store.update(f"{SOURCE}/job-0002", forget)
        assert await backlog() == 2
        await stage.claim_all("a")
        assert await backlog() == 0

    @scenario
    async def test_an_overview_shows_the_lanes_that_somebody_must_look_into(self, stage: Stage) -> None:
        await stage.join("a", queues=("default", "b"), kinds=("shell",))
        for number, (queue, kind, hours) in enumerate(
            [("b", "shell", 2), ("b", "shell", 1), ("b", "python", -3), ("a", "python", 4), ("b", "http", 0)]
        ):
            job = a_job(f"job-{number}", queue=queue, action=Action(kind=kind))
            await stage.declare(job, wake_at=stage.later(hours * HOUR))
        await stage.store.update(f"{SOURCE}/job-4", change(wake_at=None))
        assert (await stage.overview()).lanes == (
            Lane("a", "python", stage.later(4 * HOUR)),
            Lane("b", "python", stage.now - 3 * HOUR),
            Lane("b", "shell", stage.later(HOUR)),
        )

    @scenario
    async def test_an_overview_counts_what_is_there(self, stage: Stage) -> None:
        assert await stage.overview() == Overview()
        await stage.join("a", "b")
        await stage.plan(*some_jobs(4), a_job("gone"))
        await stage.plan(removed=("gone",))
        await stage.store.update(f"{SOURCE}/job-0000", open_pending(stage.later(MINUTE), "waits"))
        await stage.store.update(f"{SOURCE}/job-0001", change(wake_at=stage.now))
        await stage.claim("a")
        assert await stage.overview() == Overview(
            jobs=4, damaged=0, open_attempts=2, nodes=("a", "b"), next_wake_at=stage.later(MINUTE),
            lanes=(Lane("default", "test", stage.later(MINUTE)),),
        )  # fmt: skip
