"""Recovery: a claimed occurrence is never lost, whatever became of its node (rule 2)."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import timedelta

import pytest

from foliot.engine.plan_command import Cancel, plan_command
from foliot.engine.planner import plan_due, plan_lost
from foliot.errors import NodeBuriedError
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.policy import OnLost, Policy
from foliot.protocols import Recovered, Store
from foliot.testing.contract.concurrent_writer import ConcurrentWriter
from foliot.testing.contract.order import Order
from foliot.testing.contract.process import kill_at_work
from foliot.testing.contract.sample import (
    HOUR,
    SOURCE,
    a_job,
    change,
    count_one,
    end,
    keys_of,
    lose,
    lose_and_restart,
    open_pending,
    some_jobs,
    start_due,
)
from foliot.testing.contract.stage import Contract, Stage, scenario

KEY = f"{SOURCE}/job"


class RecoveryContract(Contract):
    """What the dead held becomes lost, once, and the living are left alone."""

    @scenario
    async def test_what_a_dead_node_held_is_lost(self, stage: Stage) -> None:
        await stage.join("a", "b")
        attempt = await stage.start_one("a", a_job())
        await stage.die("a")
        events, more, _ = await stage.store.recover(100, stage.now, lose)
        assert [(event.job, event.run_key, event.number) for event in events] == [(KEY, *attempt.key)]
        assert not more
        (lost,) = await stage.runs()
        assert lost == attempt._replace(state=AttemptState.ENDED, outcome=Outcome.LOST, finished_at=stage.now)
        assert (await stage.record(KEY)).attempts == ()

    @scenario
    async def test_what_a_node_held_when_it_left_is_lost_without_waiting(self, stage: Stage) -> None:
        await stage.join("a", "b")
        attempt = await stage.start_one("a", a_job())
        await stage.store.leave("a")
        await stage.recover()
        assert [(a.key, a.outcome) for a in await stage.runs()] == [(attempt.key, Outcome.LOST)]

    @scenario
    async def test_the_living_keep_what_they_hold(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(*some_jobs(6))
        ours = await stage.claim("a", {"default": 3})
        theirs = await stage.claim("b", {"default": 3})
        await stage.die("a")
        await stage.recover(lose_and_restart)
        assert await stage.open_keys("b") == {attempt.key for attempt in theirs}
        assert {a.key for a in await stage.runs(outcome=Outcome.LOST)} == {a.key for a in ours}

    @scenario
    async def test_of_parallel_attempts_only_the_dead_nodes_are_lost(self, stage: Stage) -> None:
        await stage.join("a", "b")
        first = await stage.start_one("a", a_job())
        await stage.store.update(KEY, change(wake_at=stage.now - HOUR))
        (second,) = await stage.claim("b")
        await stage.die("a")
        await stage.recover()
        assert [a.key for a in await stage.runs(outcome=Outcome.LOST)] == [first.key]
        assert (await stage.record(KEY)).attempts == (second,)

    @scenario
    async def test_attempts_that_wait_belong_to_nobody_and_stay(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.store.update(KEY, open_pending(stage.later(HOUR), "waits"))
        await stage.die("a")
        await stage.recover()
        (waiting,) = (await stage.record(KEY)).attempts
        assert waiting.request == "waits"
        assert waiting.key != attempt.key

    @scenario
    async def test_recovering_again_changes_nothing(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.start_one("a", a_job())
        await stage.die("a")
        await stage.recover(lose_and_restart)
        before = await stage.record(KEY)
        assert await stage.store.recover(100, stage.now, lose_and_restart) == Recovered()
        assert await stage.record(KEY) == before

    @scenario
    async def test_nothing_to_recover_is_no_error(self, stage: Stage) -> None:
        assert await stage.store.recover(100, stage.now, lose) == Recovered()
        await stage.join("a")
        assert await stage.store.recover(100, stage.now, lose) == Recovered()

    @scenario
    async def test_a_limit_is_kept_and_the_rest_follows(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(*some_jobs(25))
        await stage.claim_all("a")
        await stage.die("a")
        answers = [await stage.store.recover(10, stage.now, lose) for _ in range(4)]
        assert [len(answer.events) for answer in answers] == [10, 10, 5, 0]
        assert [answer.more for answer in answers] == [True, True, False, False]
        assert len(await stage.runs(outcome=Outcome.LOST)) == 25

    @scenario
    async def test_the_buried_stay_buried_while_something_of_theirs_is_left(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(*some_jobs(3))
        attempts = await stage.claim("a")
        await stage.die("a")
        await stage.recover(limit=1)
        with pytest.raises(NodeBuriedError):
            await stage.finish("a", *attempts)
        await stage.recover()
        assert len(await stage.runs(outcome=Outcome.LOST)) == 3

    @scenario
    async def test_a_restart_is_claimed_under_a_higher_token(self, stage: Stage) -> None:
        await stage.join("a", "b")
        attempt = await stage.start_one("a", a_job())
        await stage.die("a")
        await stage.recover(lose_and_restart)
        (again,) = await stage.claim("b")
        assert again.key == (attempt.run_key, 2)
        assert again.token > attempt.token
        assert (again.trigger, again.node) == (Trigger.LOST, "b")

    @scenario
    async def test_a_node_that_began_anew_under_the_same_name_is_unharmed(self, stage: Stage) -> None:
        await stage.join("first", name="worker")
        await stage.declare(*some_jobs(2))
        (old,) = await stage.claim("first", {"default": 1})
        await stage.join("second", name="worker")
        (new,) = await stage.claim("second")
        await stage.die("first")
        await stage.recover()
        assert await stage.open_keys("second") == {new.key}
        assert [a.key for a in await stage.runs(outcome=Outcome.LOST)] == [old.key]

    @scenario
    async def test_what_a_removed_job_ran_is_lost_as_well(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.plan(a_job())
        await stage.advance(HOUR)
        (attempt,) = await stage.claim("a", decide=plan_due)
        await stage.plan(removed=("job",))
        await stage.die("a")
        await stage.recover(plan_lost)
        assert [(a.key, a.outcome) for a in await stage.runs()] == [(attempt.key, Outcome.LOST)]
        assert (await stage.record(KEY)).attempts == ()

    # -- with the planner --------------------------------------------------------------------------

    @pytest.mark.parametrize("on_lost", list(OnLost))
    @scenario
    async def test_the_policy_says_whether_it_starts_again(self, stage: Stage, on_lost: OnLost) -> None:
        await stage.join("a", "b")
        attempt = await self._start_planned(stage, Policy(on_lost=on_lost))
        await stage.die("a")
        await stage.recover(plan_lost)
        started = await stage.claim("b", decide=plan_due)
        expected = [(attempt.run_key, 2, Trigger.LOST)] if on_lost is OnLost.RESTART else []
        assert [(a.run_key, a.number, a.trigger) for a in started] == expected

    @scenario
    async def test_what_was_to_be_cancelled_does_not_start_again(self, stage: Stage) -> None:
        await stage.join("a", "b")
        attempt = await self._start_planned(stage, Policy())
        cancel = Cancel(attempt.run_key)
        await stage.store.update(KEY, lambda record: plan_command(record, cancel, stage.now))
        await stage.die("a")
        await stage.recover(plan_lost)
        assert await stage.claim("b", decide=plan_due) == []
        assert [a.outcome for a in await stage.runs()] == [Outcome.LOST]

    async def _start_planned(self, stage: Stage, policy: Policy) -> Attempt:
        await stage.plan(a_job(policy=policy))
        await stage.advance(HOUR)
        (attempt,) = await stage.claim("a", decide=plan_due)
        return attempt

    @pytest.mark.parametrize("milliseconds", [0, 10, 40, 120])
    @scenario
    async def test_a_process_killed_at_work_loses_nothing_and_repeats_nothing(
        self, stage: Stage, milliseconds: int
    ) -> None:
        if stage.sharing is None:
            pytest.skip("this store cannot be shared between processes")
        jobs = some_jobs(300)
        await stage.join("a", "b")
        await stage.declare(*jobs)
        order = Order("killed", "a", stage.now, {"default": 40}, finishes=True)
        after = timedelta(milliseconds=milliseconds)
        await kill_at_work(stage.sharing, stage.now, {"claim": order.to_json()}, after)
        await stage.bury("a", lose_and_restart)
        await stage.finish("b", *await stage.claim_all("b"))
        attempts = await stage.runs()
        assert len({attempt.key for attempt in attempts}) == len(attempts), "open or ended, never both"
        succeeded = [a.job for a in attempts if a.outcome is Outcome.SUCCEEDED]
        assert sorted(succeeded) == keys_of(jobs), "each run succeeded once"
        lost = {a.run_key for a in attempts if a.outcome is Outcome.LOST}
        assert lost == {a.run_key for a in attempts if a.number == 2}

    # -- several at once ---------------------------------------------------------------------------

    @scenario
    async def test_four_who_recover_at_once_lose_each_attempt_once(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(*some_jobs(20))
        attempts = await stage.claim_all("a")
        await stage.die("a")
        recover = stage.store.recover
        answers = await asyncio.gather(
            *(recover(100, stage.now, lose_and_restart) for _ in range(4)),
            *(recover(3, stage.now, lose_and_restart) for _ in range(4)),
        )
        told = Counter((event.run_key, event.number) for answer in answers for event in answer.events)
        assert told == Counter(attempt.key for attempt in attempts)
        again = await stage.claim_all("b")
        assert sorted(a.key for a in again) == sorted((a.run_key, 2) for a in attempts)

    @scenario
    async def test_a_claim_in_the_middle_of_a_recovery_is_not_overwritten(self, stage: Stage) -> None:
        await stage.join("a", "b")
        lost = await stage.start_one("a", a_job())
        await stage.die("a")
        await stage.store.update(KEY, change(wake_at=stage.now))

        async def write(store: Store) -> None:
            await store.claim("b", stage.now, {"default": 1}, start_due, "b's")

        writer = ConcurrentWriter(stage, write)
        await stage.recover(writer.during(lose))
        await writer.ended()
        (running,) = (await stage.record(KEY)).attempts
        assert running.node == "b"
        assert [a.key for a in await stage.runs(outcome=Outcome.LOST)] == [lost.key]

    @scenario
    async def test_who_wakes_up_in_the_middle_of_its_burial_is_dead_or_alive(self, stage: Stage) -> None:
        """Either the burial came first, and nothing of it counts, or the renewal, and all of it does."""
        await stage.join("a", "b")
        attempt = await stage.start_one("a", a_job())
        await stage.die("a")
        answers: list[str] = []

        async def write(store: Store) -> None:
            with suppress(NodeBuriedError):
                await store.renew("a")
                answers.append("renewed")
            with suppress(NodeBuriedError):
                finished = await store.finish("a", [stage.ending(attempt)], stage.now, end)
                answers.append("refused" if finished.refused else "finished")

        writer = ConcurrentWriter(stage, write)
        await stage.recover(writer.during(lose))
        await writer.ended()
        (ended,) = await stage.runs()
        assert (ended.outcome, answers) in (
            (Outcome.LOST, []),
            (Outcome.SUCCEEDED, ["renewed", "finished"]),
        )

    @scenario
    async def test_a_command_in_the_middle_of_a_recovery_counts_as_well(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.start_one("a", a_job())
        before = (await stage.record(KEY)).state.fired_count
        await stage.die("a")
        writer = ConcurrentWriter(stage, lambda store: store.update(KEY, count_one))
        await stage.recover(writer.during(lose_and_restart))
        await writer.ended()
        record = await stage.record(KEY)
        assert record.state.fired_count == before + 1
        assert [a.number for a in record.attempts] == [2]
