"""Commands: what a person asks for is done to one job, whole or not at all."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

import asyncio

import pytest

from foliot.engine.plan_command import Cancel, Command, Pause, Resume, RunNow, plan_command
from foliot.engine.planner import plan_due, plan_ended
from foliot.errors import CommandRefusedError, JobNotFoundError
from foliot.model.attempt import AttemptState, Outcome, Trigger
from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.testing.contract.concurrent_writer import ConcurrentWriter
from foliot.testing.contract.sample import (
    HOUR,
    SECOND,
    SOURCE,
    a_job,
    change,
    count_one,
    forget,
    open_pending,
    some_jobs,
    untouched,
)
from foliot.testing.contract.stage import Contract, Stage, scenario

KEY = f"{SOURCE}/job"


async def command(stage: Stage, asked: Command) -> Decision:
    """Ask for something the way people do."""
    return await stage.store.update(KEY, lambda record: plan_command(record, asked, stage.now))


class CommandContract(Contract):
    """Update: one job, one decision, one step."""

    @scenario
    async def test_a_command_is_written_and_its_decision_returned(self, stage: Stage) -> None:
        await stage.declare(a_job(), a_job("other"))
        other = await stage.record(f"{SOURCE}/other")
        decision = await stage.store.update(KEY, open_pending(stage.later(HOUR), "request"))
        record = await stage.record(KEY)
        assert record.state == decision.state
        assert record.attempts == decision.attempts
        assert await stage.record(f"{SOURCE}/other") == other

    @scenario
    async def test_a_command_that_changes_nothing_writes_nothing(self, stage: Stage) -> None:
        await stage.declare(a_job())
        before = await stage.record(KEY)
        assert (await stage.store.update(KEY, untouched)).state == before.state
        assert await stage.record(KEY) == before

    @pytest.mark.parametrize("key", [f"{SOURCE}/nothing", "nothing", "", f"{SOURCE}/", "no/such/job"])
    @scenario
    async def test_a_job_that_is_not_there_is_an_error(self, stage: Stage, key: str) -> None:
        await stage.declare(a_job())
        with pytest.raises(JobNotFoundError):
            await stage.store.update(key, count_one)

    @scenario
    async def test_a_command_that_is_refused_leaves_all_as_it_was(self, stage: Stage) -> None:
        await stage.declare(a_job())
        before = await stage.record(KEY)

        def refuse(record: Record) -> Decision:
            raise CommandRefusedError(record.job.key, "the contract says so")

        with pytest.raises(CommandRefusedError):
            await stage.store.update(KEY, refuse)
        assert await stage.record(KEY) == before

    @scenario
    async def test_commands_at_once_all_count(self, stage: Stage) -> None:
        await stage.declare(a_job())
        await asyncio.gather(*(stage.store.update(KEY, count_one) for _ in range(20)))
        assert (await stage.record(KEY)).state.fired_count == 20

    @scenario
    async def test_commands_from_four_threads_all_count(self, stage: Stage) -> None:
        await stage.declare(a_job())

        async def five_times() -> None:
            async with stage.open_store() as store:
                for _ in range(5):
                    await store.update(KEY, count_one)

        await asyncio.gather(*(asyncio.to_thread(lambda: asyncio.run(five_times())) for _ in range(4)))
        assert (await stage.record(KEY)).state.fired_count == 20

    @scenario
    async def test_a_command_in_the_middle_of_a_command_counts_as_well(self, stage: Stage) -> None:
        await stage.declare(a_job())
        writer = ConcurrentWriter(stage, lambda store: store.update(KEY, count_one))
        decision = await stage.store.update(KEY, writer.during(count_one))
        await writer.ended()
        state = (await stage.record(KEY)).state
        assert state.fired_count == 2
        assert decision.state.fired_count in (1, 2), "the decision that was written, not an earlier one"

    @scenario
    async def test_a_command_can_remove_the_job(self, stage: Stage) -> None:
        await stage.declare(*some_jobs(2))
        await stage.store.update(f"{SOURCE}/job-0000", forget)
        assert await stage.keys(with_removed=True) == [f"{SOURCE}/job-0001"]

    # -- what it moves -----------------------------------------------------------------------------

    @scenario
    async def test_a_command_can_wake_a_job_earlier_later_or_never(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job(), wake_at=stage.later(HOUR))
        for wake_at in (stage.later(2 * HOUR), None, stage.now):
            await stage.store.update(KEY, change(wake_at=wake_at))
            assert (await stage.store.wakes(["default"])).first == wake_at
        assert len(await stage.claim("a")) == 1

    # -- with the planner --------------------------------------------------------------------------

    @scenario
    async def test_a_request_runs_once_though_it_is_made_twice(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.plan(a_job())
        for _ in range(2):
            await command(stage, RunNow("please"))
        (attempt,) = await stage.claim_all("a", plan_due)
        assert (attempt.trigger, attempt.run_key) == (Trigger.MANUAL, f"{KEY}!please")
        await command(stage, RunNow("please"))
        await stage.finish("a", attempt, decide=plan_ended)
        assert await stage.claim_all("a", plan_due) == []
        assert [a.outcome for a in await stage.runs()] == [Outcome.SUCCEEDED]

    @scenario
    async def test_a_request_that_has_run_does_not_run_again(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.plan(a_job())
        await command(stage, RunNow("please"))
        (attempt,) = await stage.claim_all("a", plan_due)
        await stage.finish("a", attempt, decide=plan_ended)
        before = await stage.record(KEY)
        for later in (0 * SECOND, SECOND):
            await stage.advance(later)
            with pytest.raises(CommandRefusedError):
                await command(stage, RunNow("please"))
        assert await stage.record(KEY) == before
        assert await stage.claim_all("a", plan_due) == []

    @scenario
    async def test_a_paused_job_does_not_run_until_it_is_resumed(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.plan(a_job())
        await command(stage, Pause())
        await stage.advance(HOUR)
        assert await stage.claim_all("a", plan_due) == []
        await command(stage, Resume())
        assert await stage.claim_all("a", plan_due) == []
        assert [(skip.first, skip.last) for skip in await stage.skips(KEY)] == [(stage.now, stage.now)]
        await stage.advance(HOUR)
        assert len(await stage.claim_all("a", plan_due)) == 1

    @scenario
    async def test_a_cancel_reaches_the_node_with_its_heartbeat(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.plan(a_job())
        await stage.advance(HOUR)
        (attempt,) = await stage.claim("a", decide=plan_due)
        await command(stage, Cancel(attempt.run_key))
        assert (await stage.store.renew("a")).cancels == (attempt.key,)
        assert [a.state for a in await stage.store.held("a")] == [AttemptState.CANCELLING]
        await stage.finish("a", attempt, outcome=Outcome.CANCELLED, decide=plan_ended)
        assert (await stage.record(KEY)).attempts == ()

    @scenario
    async def test_a_removed_job_takes_no_commands(self, stage: Stage) -> None:
        await stage.plan(a_job())
        await stage.plan(removed=("job",))
        with pytest.raises(CommandRefusedError):
            await command(stage, RunNow("too late"))
