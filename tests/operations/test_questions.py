"""Jobs and runs are found by what people call them; what is not there is not found, with a hint."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from foliot.engine.planner import plan_due
from foliot.errors import (
    AmbiguousNameError,
    InvalidJobError,
    JobNotFoundError,
    NaiveInstantError,
    RunNotFoundError,
    WaitTimeoutError,
)
from foliot.model.attempt import Outcome, Trigger
from foliot.model.policy import Policy, Retry
from foliot.model.state import Node
from foliot.operations import Operations
from foliot.protocols import Output
from foliot.why import Verdict
from operations.desk import HOURLY, MINUTE, SECOND, START, Desk, at
from operations.scene import PATIENCE, scenario

OTHER = replace(HOURLY, source="other")
DAILY = replace(OTHER, name="daily")


@scenario
async def test_a_job_is_found_by_its_key_or_its_name_alone(desk: Desk) -> None:
    assert (await desk.ops.find("shop/hourly")).key == (await desk.ops.find("hourly")).key == "shop/hourly"
    await desk.declare(OTHER, DAILY)
    assert (await desk.ops.find("daily")).key == "other/daily"
    with pytest.raises(AmbiguousNameError) as caught:
        await desk.ops.find("hourly")
    assert caught.value.message == "2 jobs have the name hourly: give one of other/hourly, shop/hourly"
    assert caught.value.details == {"name": "hourly", "jobs": ["other/hourly", "shop/hourly"]}
    for number in range(6):
        await desk.declare(replace(HOURLY, source=f"s{number}"))
    with pytest.raises(AmbiguousNameError, match=r"8 jobs .* s3/hourly and 3 more$"):
        await desk.ops.find("hourly")


@scenario
async def test_a_removed_job_is_found_if_asked_for_and_the_living_go_before(desk: Desk) -> None:
    await desk.declare(OTHER, DAILY)
    await desk.declare(DAILY, removed=("hourly",))
    assert (await desk.ops.find("hourly", with_removed=True)).key == "shop/hourly"
    await desk.declare(replace(HOURLY, name="x"), removed=("hourly",))
    with pytest.raises(JobNotFoundError):
        await desk.ops.find("shop/hourly")
    assert (await desk.ops.find("shop/hourly", with_removed=True)).key == "shop/hourly"


@pytest.mark.parametrize(
    ("name", "hint"), [("hourli", "did you mean shop/hourly?"), ("zzz", "foliot job list shows all")]
)
def test_what_is_not_there_is_not_found_with_a_suggestion(name: str, hint: str) -> None:
    @scenario
    async def play(desk: Desk) -> None:
        with pytest.raises(JobNotFoundError) as caught:
            await desk.ops.find(name)
        assert caught.value.hint == hint

    play()


def test_an_empty_store_says_so() -> None:
    async def play() -> None:
        with pytest.raises(JobNotFoundError) as caught:
            await Desk().ops.find("x")
        assert caught.value.hint == "the store has no jobs"

    asyncio.run(play())


@scenario
async def test_at_home_a_name_means_a_job_of_ones_own(desk: Desk) -> None:
    await desk.declare(OTHER, DAILY)
    ops = Operations(desk.store, desk.clock, home=("shop", "shop.added"))
    assert (await ops.find("hourly")).key == "shop/hourly"
    assert [view.key async for view in ops.every_job()] == ["shop/hourly"]
    for name, hint in (("daily", None), ("hourl", "did you mean hourly?"), ("other/daily", None)):
        with pytest.raises(JobNotFoundError) as caught:
            await ops.find(name)
        assert caught.value.hint == hint
    await desk.ops.trigger("other/daily", request="a")
    assert (await ops.run("other/daily!a"))[0].job == "other/daily"


@scenario
async def test_jobs_come_in_pages(desk: Desk) -> None:
    await desk.declare(OTHER, DAILY)
    keys, after = [], ""
    while True:
        page = await desk.ops.jobs(after=after, limit=1)
        keys += [view.key for view in page]
        if page.next is None:
            break
        after = page.next
    assert keys == ["other/daily", "other/hourly", "shop/hourly"]
    assert [view.key async for view in desk.ops.every_job("other", "shop")] == keys
    assert (await desk.ops.jobs("nobody")) == ()
    assert (await desk.ops.source_of((await desk.ops.jobs("shop"))[0])).revision == "+"


@scenario
async def test_a_run_is_found_by_its_key_with_or_without_the_source(desk: Desk) -> None:
    await desk.declare(replace(HOURLY, policy=Policy(retry=Retry(max=1, delay="0s"))))
    await desk.advance(at(7))
    await desk.run_due(Outcome.FAILED)
    await desk.run_due()
    await desk.ops.trigger("hourly", request="a")
    for name in ("shop/hourly@2026-03-02T07:00:00Z", "hourly@2026-03-02T07:00:00Z"):
        assert [attempt.number for attempt in await desk.ops.run(name)] == [1, 2]
    assert [attempt.request for attempt in await desk.ops.run("hourly!a")] == ["a"]
    assert (await desk.ops.run("hourly"))[0].scheduled_for == at(7)


@pytest.mark.parametrize(
    ("run", "hint"),
    [
        ("hourly!b", "foliot run list --job shop/hourly shows what is remembered"),
        ("hourly@2026-03-02T07:00:00Z", "foliot run list --job shop/hourly shows what is remembered"),
        ("hourly@2026-03-02", "foliot run list --job shop/hourly shows what is remembered"),
        ("hourly@0001-01-01T00:00:00+14:00", "foliot run list --job shop/hourly shows what is remembered"),
        ("hourly@noon", "foliot run list --job shop/hourly shows what is remembered"),
        ("hourli!b", "did you mean shop/hourly?"),
        (
            "hourli",
            "a run key is source/name@2026-11-15T07:00:00Z or source/name!request; see foliot run list",
        ),
        ("hourly", "it has not run yet, as far as history goes back"),
        ("a\0b!c", None),
        (None, None),
    ],
)
def test_a_run_that_is_not_there_is_not_found(run: object, hint: str | None) -> None:
    @scenario
    async def play(desk: Desk) -> None:
        for asked in (desk.ops.run, desk.ops.finished, desk.ops.cancel, desk.ops.rerun):
            with pytest.raises(RunNotFoundError) as caught:
                await asked(run)
            assert caught.value.hint == hint

    play()


@scenario
async def test_whoever_waits_for_a_run_gets_its_last_attempt(desk: Desk) -> None:
    await desk.declare(replace(HOURLY, policy=Policy(retry=Retry(max=1, delay="10s"))))
    await desk.ops.trigger("hourly", request="a")
    waiting = asyncio.ensure_future(desk.ops.finished("hourly!a"))
    await desk.clock.advance(MINUTE)
    await desk.run_due(Outcome.FAILED)
    await desk.clock.advance(9 * SECOND)
    assert not waiting.done(), "it is to be tried again"
    await desk.clock.advance(SECOND)
    await desk.run_due()
    await desk.clock.advance(2 * SECOND)
    last = await asyncio.wait_for(waiting, PATIENCE)
    assert (last.number, last.outcome) == (2, Outcome.SUCCEEDED)
    assert await desk.ops.finished("hourly!a", timeout=timedelta(0)) == last


@scenario
async def test_whoever_has_waited_long_enough_is_told(desk: Desk) -> None:
    await desk.ops.trigger("hourly", request="a")
    waiting = asyncio.ensure_future(desk.ops.finished("hourly!a", timeout=90 * SECOND))
    await desk.clock.advance(89 * SECOND)
    assert not waiting.done()
    await desk.clock.advance(SECOND)
    with pytest.raises(WaitTimeoutError, match="shop/hourly!a is still pending after 90 s") as caught:
        await waiting
    assert isinstance(caught.value, TimeoutError)
    assert await desk.ops.attempts(is_open=True), "the run goes on"


@scenario
async def test_a_run_of_a_removed_job_can_be_waited_for(desk: Desk) -> None:
    await desk.ops.trigger("hourly", request="a")
    [attempt] = await desk.claim()
    await desk.declare(replace(HOURLY, name="x"), removed=("hourly",))
    waiting = asyncio.ensure_future(desk.ops.finished(attempt.run_key))
    await desk.clock.advance(SECOND)
    await desk.finish(attempt)
    await desk.clock.advance(SECOND)
    assert (await asyncio.wait_for(waiting, PATIENCE)).outcome is Outcome.SUCCEEDED


@scenario
async def test_why_asks_the_past_and_the_future(desk: Desk) -> None:
    await desk.advance(at(7))
    await desk.run_due()
    assert (await desk.ops.why("hourly", at(7))).verdict is Verdict.RAN
    view = await desk.ops.find("hourly")
    assert (await desk.ops.why(view)).at == at(8)
    assert (await desk.ops.why(view, kinds=())).verdict is Verdict.WILL_NOT
    with pytest.raises(NaiveInstantError):
        await desk.ops.why("hourly", at(7).replace(tzinfo=None))


@scenario
async def test_history_and_log_refuse_what_is_none(desk: Desk) -> None:
    await desk.ops.trigger("hourly", request="a")
    [attempt] = await desk.run_due()
    assert await desk.ops.log(attempt) == ""
    await desk.store.write_outputs([Output(attempt.job, *attempt.key, "hello")])
    assert await desk.ops.log(attempt) == "hello"
    assert [a.key for a in await desk.ops.history("hourly", 5)] == [attempt.key]
    assert await desk.ops.history(None, 0) == ()
    for limit in (-1, True, "5"):
        with pytest.raises(InvalidJobError, match="must be a number that is not negative"):
            await desk.ops.history(None, limit)
    with pytest.raises(InvalidJobError, match="is no attempt"):
        await desk.ops.log("hourly")


@scenario
async def test_nodes_that_can_start_a_job(desk: Desk) -> None:
    assert [view.node.id for view in await desk.ops.servants(HOURLY)] == ["n1"]
    assert await desk.ops.servants(replace(HOURLY, queue="night")) == []
    assert desk.clock.now() == START


@scenario
async def test_why_and_the_ledger_tell_of_a_time_without_nodes(desk: Desk) -> None:
    """The only node leaves at 6:30, and the next one comes at 9:10."""
    await desk.store.leave("n1")
    await desk.advance(at(9, 10))
    await desk.store.join(Node("n2"))
    claimed = await desk.store.claim("n2", desk.clock.now(), {"default": 9}, plan_due, "c")
    (run,) = claimed.runs
    assert run.attempt.trigger is Trigger.CATCH_UP

    words = "no node was running from 2026-03-02T06:30:00Z to 2026-03-02T09:10:00Z"
    for hour in (7, 8, 9):
        assert words in str(await desk.ops.why("hourly", at(hour)))
    view = await desk.ops.find("hourly")
    ledger = await desk.ops.occurrences(view, at(7), at(9))
    assert [words in line.reason for line in ledger.occurrences] == [True] * 3


@scenario
async def test_why_tells_which_group_a_job_waits_for_by_what_living_nodes_know(desk: Desk) -> None:
    other = replace(HOURLY, name="second", group="db")
    await desk.declare(replace(HOURLY, group="db"), other)
    await desk.advance(at(7))
    assert "group db, for which no running node has a limit" in str(await desk.ops.why("second"))
    await desk.store.join(Node("n1", limits=(("db", 1),)))
    await desk.store.claim("n1", desk.clock.now(), {"default": 9}, plan_due, "c", {"db": 1})
    assert (await desk.ops.why("hourly")).verdict is Verdict.RUNS
    why = await desk.ops.why("second")
    assert (why.verdict, "waits for group db (1 of 1 running)" in str(why)) == (Verdict.WAITS, True)
