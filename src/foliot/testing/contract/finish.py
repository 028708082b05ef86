"""Finishes: an ending counts once, and only under its own node and token (rule 2)."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from foliot.engine.planner import plan_due, plan_ended
from foliot.errors import JobNotFoundError, NodeBuriedError
from foliot.model.attempt import AttemptState, Ending, Outcome, Trigger
from foliot.model.decision import Decision
from foliot.model.policy import Policy, Retry
from foliot.model.state import Record
from foliot.protocols import Finished
from foliot.schedules import Once
from foliot.testing.contract.finish_race import FinishRaceContract, start_two
from foliot.testing.contract.sample import (
    HOUR,
    MINUTE,
    SECOND,
    SOURCE,
    TICK,
    a_job,
    change,
    end,
    end_and_count,
    forget,
    open_pending,
    request_cancel,
    some_jobs,
)
from foliot.testing.contract.stage import Stage, scenario

KEY = f"{SOURCE}/job"


class FinishContract(FinishRaceContract):
    """What is recorded of an attempt's end, and whose word counts."""

    @scenario
    async def test_an_ending_is_recorded_whole(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        started_at, finished_at = stage.later(TICK), stage.later(90 * SECOND + 3 * TICK)
        ending = stage.ending(
            attempt, outcome=Outcome.FAILED, started_at=started_at, finished_at=finished_at, error="no: 'ü'"
        )
        finished = await stage.store.finish("a", [ending], stage.now, end)
        assert finished.refused == ()
        assert [event.run_key for event in finished.events] == [attempt.run_key]
        (found,) = await stage.runs()
        assert found == attempt._replace(
            state=AttemptState.ENDED, outcome=Outcome.FAILED,
            started_at=started_at, finished_at=finished_at, error="no: 'ü'",
        )  # fmt: skip
        assert found.outcome is Outcome.FAILED
        assert not found.is_open
        assert (await stage.record(KEY)).attempts == ()
        assert await stage.open_keys("a") == set()

    @pytest.mark.parametrize(
        ("outcome", "exit_code"),
        [
            (Outcome.SUCCEEDED, None),
            (Outcome.SUCCEEDED, 0),
            (Outcome.FAILED, None),
            (Outcome.FAILED, 3),
            (Outcome.TIMED_OUT, -15),
            (Outcome.FAILED, 2**31),
        ],
    )
    @scenario
    async def test_an_exit_code_is_kept_if_there_was_one(
        self, stage: Stage, outcome: Outcome, exit_code: int | None
    ) -> None:
        await stage.join("a")
        await stage.plan(a_job())
        await stage.advance(HOUR)
        (attempt,) = await stage.claim("a", decide=plan_due)
        assert attempt.exit_code is None
        ending = stage.ending(attempt, outcome=outcome, exit_code=exit_code)
        await stage.store.finish("a", [ending], stage.now, plan_ended)
        assert [(a.outcome, a.exit_code) for a in await stage.runs()] == [(outcome, exit_code)]
        assert [a.exit_code for a in await stage.runs(job=KEY)] == [exit_code]

    @scenario
    async def test_a_success_leaves_the_state_alone(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        before = (await stage.record(KEY)).state
        await stage.finish("a", attempt)
        assert (await stage.record(KEY)).state == before

    @scenario
    async def test_the_planners_success_leaves_the_state_alone(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.plan(a_job())
        await stage.advance(HOUR)
        (attempt,) = await stage.claim("a", decide=plan_due)
        before = (await stage.record(KEY)).state
        await stage.finish("a", attempt, decide=plan_ended)
        assert (await stage.record(KEY)).state == before

    @scenario
    async def test_a_state_that_the_decision_changes_is_written(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.finish("a", attempt, decide=end_and_count)
        assert (await stage.record(KEY)).state.failures_in_row == 1

    @scenario
    async def test_an_attempt_that_is_to_be_cancelled_can_still_end(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.store.update(KEY, request_cancel)
        assert (await stage.finish("a", attempt, outcome=Outcome.CANCELLED)).refused == ()
        assert [a.outcome for a in await stage.runs()] == [Outcome.CANCELLED]

    @scenario
    async def test_a_node_whose_lease_ran_out_may_finish_until_it_is_buried(self, stage: Stage) -> None:
        lease = await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.outlive(lease)
        assert (await stage.finish("a", attempt)).refused == ()
        await stage.recover()
        assert [a.outcome for a in await stage.runs()] == [Outcome.SUCCEEDED]

    @scenario
    async def test_an_error_may_be_long(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        error = "Zeile: ünïcödé \"quoted\" 'twice' \\ {brace} %s $1\n\t🦀 " * 2000
        await stage.finish("a", attempt, outcome=Outcome.FAILED, error=error)
        assert [a.error for a in await stage.runs()] == [error]

    @scenario
    async def test_an_error_of_any_characters_ends_the_attempt_all_the_same(self, stage: Stage) -> None:
        """What a program printed may be anything; not every server takes it as it is."""
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        error = "readable \x00 \ud800 \x1b[31m \uffff also readable"
        assert (await stage.finish("a", attempt, outcome=Outcome.FAILED, error=error)).refused == ()
        (found,) = await stage.runs(outcome=Outcome.FAILED)
        assert found.error is not None
        assert found.error.startswith("readable ")
        assert found.error.endswith(" also readable")

    @scenario
    async def test_nothing_to_report_is_no_error(self, stage: Stage) -> None:
        await stage.join("a")
        assert await stage.finish("a") == Finished()

    # -- what does not count -----------------------------------------------------------------------

    @scenario
    async def test_a_second_ending_is_refused(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.finish("a", attempt)
        ending = stage.ending(attempt, outcome=Outcome.FAILED)
        finished = await stage.store.finish("a", [ending], stage.now, end)
        assert [(refused.ending, bool(refused.reason)) for refused in finished.refused] == [(ending, True)]
        assert finished.events == ()
        assert [a.outcome for a in await stage.runs()] == [Outcome.SUCCEEDED]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"token": -1},
            {"number": 2},
            {"run_key": f"{KEY}@1999-12-31T23:59:59Z"},
            {"job": f"{SOURCE}/no such job"},
            {"job": "no key at all"},
        ],
        ids=["token", "number", "run", "job", "key"],
    )
    @scenario
    async def test_an_ending_of_another_attempt_is_refused(
        self, stage: Stage, wrong: dict[str, object]
    ) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        ending = stage.ending(attempt)._replace(**wrong)  # type: ignore[arg-type]  # the rows above
        finished = await stage.store.finish("a", [ending], stage.now, end)
        assert [refused.ending for refused in finished.refused] == [ending]
        assert await stage.open_keys("a") == {attempt.key}

    @scenario
    async def test_the_token_must_be_the_attempts_own_not_the_jobs(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.store.update(KEY, change(paused_at=stage.now))
        token = (await stage.record(KEY)).state.token
        assert token > attempt.token
        ending = stage.ending(attempt, token=token)
        assert (await stage.store.finish("a", [ending], stage.now, end)).refused
        assert (await stage.finish("a", attempt)).refused == ()

    @scenario
    async def test_another_nodes_ending_is_refused(self, stage: Stage) -> None:
        await stage.join("a", "b")
        attempt = await stage.start_one("a", a_job())
        assert len((await stage.finish("b", attempt)).refused) == 1
        assert await stage.open_keys("a") == {attempt.key}

    @scenario
    async def test_an_attempt_that_has_not_started_cannot_end(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job(), wake_at=stage.later(HOUR))
        await stage.store.update(KEY, open_pending(stage.now, "request"))
        (pending,) = (await stage.record(KEY)).attempts
        assert len((await stage.finish("a", pending)).refused) == 1
        assert (await stage.record(KEY)).attempts == (pending,)

    @pytest.mark.parametrize("way", ["buried", "left", "unknown"])
    @scenario
    async def test_who_is_not_alive_cannot_finish(self, stage: Stage, way: str) -> None:
        await stage.join("a", "b")
        attempt = await stage.start_one("a", a_job())
        if way == "buried":
            await stage.bury("a")
        elif way == "left":
            await stage.store.leave("a")
        with pytest.raises(NodeBuriedError):
            await stage.finish("nobody" if way == "unknown" else "a", attempt)
        assert Outcome.SUCCEEDED not in [a.outcome for a in await stage.runs()]

    @scenario
    async def test_an_ending_after_the_job_has_gone_is_refused(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.store.update(KEY, forget)
        assert len((await stage.finish("a", attempt)).refused) == 1
        assert await stage.keys() == []

    @scenario
    async def test_of_four_who_report_the_same_at_once_one_counts(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        answers = await asyncio.gather(*(stage.finish("a", attempt, decide=end_and_count) for _ in range(4)))
        assert sum(not answer.refused for answer in answers) == 1
        assert (await stage.record(KEY)).state.failures_in_row == 1

    # -- several at once ---------------------------------------------------------------------------

    @scenario
    async def test_one_stale_ending_does_not_stop_the_others(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(5))
        attempts = await stage.claim("a")
        await stage.finish("a", attempts[2])
        finished = await stage.finish("a", *attempts)
        assert [refused.ending.job for refused in finished.refused] == [attempts[2].job]
        assert await stage.open_keys("a") == set()
        assert len(await stage.runs(outcome=Outcome.SUCCEEDED)) == 5

    @scenario
    async def test_hundreds_of_endings_are_one_report(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(600))
        attempts = await stage.claim_all("a")
        finished = await stage.finish("a", *attempts)
        assert (finished.refused, len(finished.events)) == ((), 600)
        assert await stage.open_keys("a") == set()

    @pytest.mark.parametrize("first", [0, 1], ids=["older first", "newer first"])
    @scenario
    async def test_parallel_attempts_end_each_for_itself(self, stage: Stage, first: int) -> None:
        await stage.join("a")
        attempts = await start_two(stage)
        assert (await stage.finish("a", attempts[first])).refused == ()
        assert await stage.open_keys("a") == {attempts[1 - first].key}
        assert (await stage.finish("a", attempts[1 - first])).refused == ()
        assert await stage.open_keys("a") == set()

    @scenario
    async def test_parallel_attempts_end_in_one_report(self, stage: Stage) -> None:
        await stage.join("a")
        attempts = await start_two(stage)
        assert (await stage.finish("a", *attempts, decide=end_and_count)).refused == ()
        record = await stage.record(KEY)
        assert (record.state.failures_in_row, record.attempts) == (2, ())

    # -- what follows ------------------------------------------------------------------------------

    @scenario
    async def test_a_retry_is_claimed_when_its_time_has_come(self, stage: Stage) -> None:
        await stage.join("a")
        policy = Policy(retry=Retry(max=2, delay=timedelta(seconds=5)))
        await stage.plan(a_job(schedule=Once(stage.later(MINUTE)), policy=policy))
        await stage.advance(MINUTE)
        (attempt,) = await stage.claim("a", decide=plan_due)
        await stage.finish("a", attempt, outcome=Outcome.FAILED, decide=plan_ended)
        assert await stage.claim("a", decide=plan_due) == []
        await stage.advance(5 * SECOND)
        (retry,) = await stage.claim("a", decide=plan_due)
        assert (retry.run_key, retry.number, retry.trigger) == (attempt.run_key, 2, Trigger.RETRY)
        assert retry.token > attempt.token
        await stage.finish("a", retry, decide=plan_ended)
        assert [(a.number, a.outcome) for a in await stage.runs()] == [
            (2, Outcome.SUCCEEDED),
            (1, Outcome.FAILED),
        ]

    @scenario
    async def test_a_decision_to_remove_the_job_removes_it(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.finish("a", attempt, decide=_end_and_forget)
        assert await stage.keys(with_removed=True) == []
        with pytest.raises(JobNotFoundError):
            await stage.store.update(KEY, forget)


def _end_and_forget(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
    return end(record, endings, now)._replace(remove=True)
