"""Groups, by the engine: what waits for a place holds up nothing else, and costs next to nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from engine.stage import MINUTE, SECOND, Stage, job, staged
from engine.test_fitness import Counting, starts_of
from foliot.model.attempt import Outcome
from foliot.model.job import Job
from foliot.model.policy import Misfire, MisfireMode, Overlap, OverlapMode, Retry
from foliot.model.state import SkipCode
from foliot.protocols import Result, SkipQuery
from foliot.schedules import Once

ONE: dict[str, Any] = {"groups": {"db": 1}}
HALF = timedelta(milliseconds=500)


def grouped(name: str, rule: str = "* * * * *", group: str = "db", **policy: Any) -> Job:
    return replace(job(name, rule, **policy), group=group)


def starts(stage: Stage) -> list[str]:
    """The names of the jobs that were started, in order."""
    return [key.partition("@")[0].removeprefix("code/") for _, key, _ in stage.starts]


@staged
async def test_of_a_group_one_runs_and_the_next_begins_when_it_has_ended(stage: Stage) -> None:
    stage.takes = 10 * SECOND
    await stage.declare(grouped("a"), grouped("b"), grouped("c"))
    await stage.start(**ONE)
    await stage.clock.advance(MINUTE)
    first = stage.clock.now()
    assert starts(stage) == ["a"]
    await stage.clock.advance(30 * SECOND)
    assert starts(stage) == ["a", "b", "c"]
    assert [(at - first) // SECOND for at, _, _ in stage.starts] == [0, 10, 20]


@staged
async def test_a_full_group_delays_no_other_job(stage: Stage) -> None:
    """The time of the next job counts to the moment, though something is due all the while."""
    stage.takes = 10 * MINUTE
    at = stage.clock.now() + MINUTE + timedelta(seconds=7.37)  # between two looks at what waits
    await stage.declare(grouped("holds"), grouped("waits"), replace(job("free"), schedule=Once(at)))
    await stage.start(**ONE)
    await stage.clock.advance(MINUTE + 10 * SECOND)
    assert starts(stage) == ["holds", "free"]
    assert starts_of(stage, "free") == [at]


@staged
async def test_what_waits_is_looked_at_once_a_second_and_no_more(stage: Stage) -> None:
    stage.store = store = Counting(stage.clock)
    stage.takes = 10 * MINUTE
    await stage.declare(grouped("holds", "0 * * * *"), grouped("waits", "0 * * * *"))
    await stage.start(**ONE)
    await stage.clock.advance(60 * MINUTE)
    store.claims = 0
    await stage.clock.advance(MINUTE)
    assert 30 <= store.claims <= 70
    assert starts(stage) == ["holds"]


@staged
async def test_a_place_that_another_node_frees_is_taken_within_a_second(stage: Stage) -> None:
    stage.takes = 10 * SECOND
    await stage.declare(grouped("a", "0 * * * *"), grouped("b", "0 * * * *"))
    await stage.start(**ONE)
    await stage.start(**ONE)
    await stage.clock.advance(60 * MINUTE)
    assert len(stage.starts) == 1
    await stage.clock.advance(11 * SECOND)
    assert starts(stage) == ["a", "b"]


@staged
async def test_the_death_of_a_node_frees_its_place(stage: Stage) -> None:
    stage.takes = 60 * MINUTE
    await stage.declare(grouped("a", "0 * * * *"), grouped("b", "0 * * * *"))
    doomed = await stage.start(**ONE)
    await stage.clock.advance(60 * MINUTE)
    assert starts(stage) == ["a"]
    await stage.start(**ONE)
    await stage.kill(doomed)
    await stage.clock.advance(2 * MINUTE)
    assert len(starts(stage)) == 2
    assert await stage.store.running("db") == 1


@staged
async def test_a_node_that_does_not_know_the_group_leaves_its_jobs_alone(stage: Stage) -> None:
    await stage.declare(grouped("a"), job("free"))
    await stage.start()
    await stage.clock.advance(3 * MINUTE)
    assert set(starts(stage)) == {"free"}
    await stage.start(**ONE)
    await stage.clock.advance(2 * SECOND)
    assert "a" in starts(stage)


@staged
async def test_a_job_that_overlaps_itself_is_skipped_though_its_group_is_full(stage: Stage) -> None:
    stage.takes = 90 * SECOND
    await stage.declare(grouped("a"))
    await stage.start(**ONE)
    await stage.clock.advance(MINUTE)
    await stage.clock.advance(95 * SECOND)
    (skip,) = await stage.store.skips(SkipQuery("code/a"))
    assert skip.code is SkipCode.OVERLAP
    assert len(stage.starts) == 1


@staged
async def test_a_job_replaces_its_own_run_though_its_group_is_full(stage: Stage) -> None:
    stage.takes = 10 * MINUTE
    await stage.declare(grouped("a", overlap=Overlap(mode=OverlapMode.REPLACE)))
    await stage.start(**ONE)
    await stage.clock.advance(2 * MINUTE + 5 * SECOND)
    first, second = await stage.runs()
    assert first.outcome is Outcome.CANCELLED
    assert second.is_running


@staged
async def test_what_waited_longer_than_its_grace_is_met_as_what_was_missed(stage: Stage) -> None:
    stage.takes = 10 * MINUTE
    skips = Misfire(mode=MisfireMode.SKIP, grace=MINUTE)
    await stage.declare(
        grouped("holds", "0 * * * *"),
        grouped("once", "0 * * * *"),
        grouped("skip", "0 * * * *", misfire=skips),
    )
    await stage.start(**ONE)
    await stage.clock.advance(75 * MINUTE)
    assert starts(stage) == ["holds", "once"]
    await stage.clock.advance(10 * MINUTE)
    (skip,) = await stage.store.skips(SkipQuery("code/skip"))
    assert skip.code is SkipCode.LATE


@staged
async def test_a_retry_waits_for_its_group(stage: Stage) -> None:
    stage.result = Result(Outcome.FAILED)
    stage.takes = 20 * SECOND
    await stage.declare(grouped("a", "0 * * * *", retry=Retry(1, HALF)), grouped("b", "0 * * * *"))
    await stage.start(**ONE)
    await stage.clock.advance(60 * MINUTE)
    await stage.clock.advance(2 * MINUTE)
    assert starts(stage) == ["a", "b", "a"]
    assert [number for _, _, number in stage.starts] == [1, 1, 2]
