"""Finishes that race: with a claim, with a command, with another finish of the same job.

A success in peace leaves the state as it is, token and all. So the token alone does not tell whether a
record has changed: a store that compares and sets needs a version that grows with every write.
"""

# ruff: noqa: S101 - cases of a test suite: they assert

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from foliot.engine.plan_command import RunNow, plan_command
from foliot.engine.planner import plan_due, plan_ended
from foliot.errors import NodeBuriedError
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.decision import Decision
from foliot.model.policy import Policy, parallel
from foliot.model.state import Record
from foliot.protocols import Store
from foliot.schedules import Every, Once
from foliot.testing.contract.concurrent_writer import ConcurrentWriter
from foliot.testing.contract.sample import (
    HOUR,
    MINUTE,
    SECOND,
    SOURCE,
    a_job,
    change,
    end,
    end_and_count,
    lose,
)
from foliot.testing.contract.stage import Contract, Stage, scenario

KEY = f"{SOURCE}/job"


async def start_two(stage: Stage, node: str = "a") -> list[Attempt]:
    """Two attempts of one job that run side by side."""
    await stage.declare(a_job())
    first = await stage.claim(node)
    await stage.store.update(KEY, change(wake_at=stage.now - SECOND))
    return [*first, *await stage.claim(node)]


class FinishRaceContract(Contract):
    """Somebody else writes in the very middle of it."""

    @scenario
    async def test_a_write_in_the_middle_of_a_finish_is_not_overwritten(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        pause = change(paused_at=stage.now)
        writer = ConcurrentWriter(stage, lambda store: store.update(KEY, pause))
        finished = await stage.finish("a", attempt, decide=writer.during(end_and_count))
        await writer.ended()
        state = (await stage.record(KEY)).state
        assert finished.refused == ()
        assert (state.paused_at, state.failures_in_row) == (stage.now, 1)

    @scenario
    async def test_an_occurrence_that_comes_in_the_middle_of_a_finish_is_seen(self, stage: Stage) -> None:
        """The claim finds the job busy and puts it to sleep; the finish saw it awake. Who wakes it."""
        await stage.join("a", "b")
        await stage.plan(a_job(schedule=Every(MINUTE)))
        await stage.advance(MINUTE)
        (attempt,) = await stage.claim("a", decide=plan_due)
        await stage.advance(MINUTE)

        async def write(store: Store) -> None:
            await store.claim("b", stage.now, {"default": 1}, plan_due, "b's")

        writer = ConcurrentWriter(stage, write)
        await stage.finish("a", attempt, decide=writer.during(plan_ended))
        await writer.ended()
        await self._check_that_it_goes_on(stage, attempt)

    @scenario
    async def test_a_success_in_the_middle_of_a_claim_that_found_the_job_busy_is_seen(
        self, stage: Stage
    ) -> None:
        """The claim saw the run open and puts the job to sleep; the success left the token alone."""
        await stage.join("a", "b")
        await stage.plan(a_job(schedule=Every(MINUTE)))
        await stage.advance(MINUTE)
        (attempt,) = await stage.claim("a", decide=plan_due)
        await stage.advance(MINUTE)

        async def write(store: Store) -> None:
            await store.finish("a", [stage.ending(attempt)], stage.now, plan_ended)

        writer = ConcurrentWriter(stage, write)
        await stage.claim("b", decide=writer.during(plan_due))
        await writer.ended()
        await self._check_that_it_goes_on(stage, attempt)

    @scenario
    async def test_a_success_in_the_middle_of_a_request_that_found_the_job_busy_is_seen(
        self, stage: Stage
    ) -> None:
        """The request saw the run open and waits for its end, which has come meanwhile."""
        await stage.join("a", "b")
        await stage.plan(a_job())
        await stage.advance(HOUR)
        (attempt,) = await stage.claim("a", decide=plan_due)

        async def write(store: Store) -> None:
            await store.finish("a", [stage.ending(attempt)], stage.now, plan_ended)

        def ask(record: Record) -> Decision:
            return plan_command(record, RunNow("by hand"), stage.now)

        writer = ConcurrentWriter(stage, write)
        await stage.store.update(KEY, writer.during(ask))
        await writer.ended()
        assert [a.request for a in await stage.claim_all("b", plan_due)] == ["by hand"]

    @scenario
    async def test_a_node_buried_in_the_middle_of_its_finish_has_finished_or_lost(self, stage: Stage) -> None:
        """What the node is told is what history says: nothing is written of an ending that does not count."""
        lease = await stage.join("a")
        attempt = await stage.start_one("a", a_job())

        async def write(store: Store) -> None:
            await stage.outlive(lease)
            await store.recover(100, stage.now, lose)

        writer = ConcurrentWriter(stage, write)
        try:
            refused = (await stage.finish("a", attempt, decide=writer.during(end))).refused
        except NodeBuriedError:
            is_counted = False
        else:
            is_counted = not refused
        await writer.ended()
        await stage.recover()
        outcomes = [a.outcome for a in await stage.runs()]
        assert outcomes == [Outcome.SUCCEEDED if is_counted else Outcome.LOST]

    async def _check_that_it_goes_on(self, stage: Stage, attempt: Attempt) -> None:
        outcomes = {a.key: a.outcome for a in await stage.runs()}
        assert outcomes[attempt.key] is Outcome.SUCCEEDED
        record = await stage.record(KEY)
        assert attempt.key not in {a.key for a in record.attempts}, "what has ended is not open again"
        assert record.attempts or record.state.wake_at is not None, "nobody would ever look at it again"

    @scenario
    async def test_the_last_of_two_that_end_at_once_knows_that_it_is_the_last(self, stage: Stage) -> None:
        """Each sees the other open, and leaves the state alone; one of them must be asked again."""
        await stage.join("a")
        first, second = await start_two(stage)

        async def write(store: Store) -> None:
            await store.finish("a", [stage.ending(second)], stage.now, _end_and_forget_if_last)

        writer = ConcurrentWriter(stage, write)
        finished = await stage.finish("a", first, decide=writer.during(_end_and_forget_if_last))
        await writer.ended()
        assert finished.refused == ()
        assert await stage.keys(with_removed=True) == []

    @scenario
    async def test_a_job_with_nothing_left_to_do_removes_itself(self, stage: Stage) -> None:
        await stage.join("a", "b")
        policy = Policy(overlap=parallel(), remembers=False)
        await stage.plan(a_job(schedule=Once(stage.later(MINUTE)), auto_remove=True, policy=policy))
        await stage.advance(MINUTE)
        (first,) = await stage.claim("a", decide=plan_due)
        await stage.store.update(KEY, lambda record: plan_command(record, RunNow("by hand"), stage.now))
        (second,) = await stage.claim("b", decide=plan_due)

        async def write(store: Store) -> None:
            await store.finish("b", [stage.ending(second)], stage.now, plan_ended)

        writer = ConcurrentWriter(stage, write)
        await stage.finish("a", first, decide=writer.during(plan_ended))
        await writer.ended()
        assert await stage.keys(with_removed=True) == []

    @scenario
    async def test_an_ending_that_is_reported_twice_at_once_is_decided_once(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())

        async def write(store: Store) -> None:
            await store.finish("a", [stage.ending(attempt)], stage.now, end_and_count)

        writer = ConcurrentWriter(stage, write)
        await stage.finish("a", attempt, decide=writer.during(end_and_count))
        await writer.ended()
        assert (await stage.record(KEY)).state.failures_in_row == 1
        assert len(await stage.runs()) == 1


def _end_and_forget_if_last(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
    return end(record, endings, now)._replace(remove=len(record.attempts) == 1)
