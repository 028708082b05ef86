"""Claims: an occurrence is claimed at most once per attempt, by any number of nodes (rule 1)."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress

import pytest

from foliot.engine.planner import plan_due
from foliot.errors import NodeBuriedError
from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.job import Action
from foliot.model.policy import Overlap, OverlapMode, Policy
from foliot.model.state import Skip
from foliot.protocols import Changes, Store
from foliot.schedules import Every
from foliot.testing.contract.concurrent_writer import ConcurrentWriter
from foliot.testing.contract.crowd import KINDS, Crowd
from foliot.testing.contract.order import Order
from foliot.testing.contract.sample import (
    HOUR,
    MINUTE,
    SECOND,
    SOURCE,
    TICK,
    a_job,
    bury_job,
    change,
    declare_at,
    keys_of,
    let_pass,
    lose,
    open_pending,
    some_jobs,
    start_due,
)
from foliot.testing.contract.stage import Contract, Stage, scenario


class ClaimContract(Contract):
    """Who gets what, how much of it, and in which order."""

    @pytest.fixture(params=KINDS)
    def crowd(self, request: pytest.FixtureRequest, stage: Stage) -> Crowd:
        """One claimer, or four: as tasks, threads and processes."""
        if request.param == "processes" and stage.sharing is None:
            pytest.skip("this store cannot be shared between processes")
        return Crowd(stage, request.param)

    # -- one, or four at once ----------------------------------------------------------------------

    @scenario
    async def test_each_due_job_is_claimed_exactly_once(self, stage: Stage, crowd: Crowd) -> None:
        jobs = some_jobs(60)
        await crowd.join()
        await stage.declare(*jobs)
        taken = await crowd.claim_together(room={"default": 5})
        assert sorted(one.job for one in taken) == keys_of(jobs)
        held = [await stage.open_keys(node) for node in crowd.nodes]
        assert sorted(key for keys in held for key in keys) == sorted((t.run_key, t.number) for t in taken)

    @scenario
    async def test_nothing_is_claimed_before_its_time(self, stage: Stage, crowd: Crowd) -> None:
        await crowd.join()
        await stage.declare(a_job("early"), wake_at=stage.later(TICK))
        before = await stage.record(f"{SOURCE}/early")
        assert await crowd.claim_together() == []
        assert await stage.record(f"{SOURCE}/early") == before
        await stage.clock.advance(TICK)
        assert len(await crowd.claim_together()) == 1

    @scenario
    async def test_what_has_been_due_for_longest_comes_first(self, stage: Stage, crowd: Crowd) -> None:
        await crowd.join()
        jobs = some_jobs(24)
        for number, job in enumerate(jobs):  # the last one is due first
            await stage.declare(job, wake_at=stage.now - number * SECOND)
        for one in await crowd.claim(room={"default": 3}):
            assert [taken.job for taken in one] == sorted((taken.job for taken in one), reverse=True)

    @scenario
    async def test_a_claim_starts_no_more_than_there_is_room_for(self, stage: Stage, crowd: Crowd) -> None:
        await crowd.join()
        await stage.declare(*some_jobs(30))
        taken = await crowd.claim(room={"default": 3}, turns=1)
        assert all(len(one) <= 3 for one in taken)
        assert not crowd.is_alone or len(taken[0]) == 3
        rest = await crowd.claim_together()
        assert sum(map(len, taken)) + len(rest) == 30

    @scenario
    async def test_room_is_counted_for_each_queue(self, stage: Stage, crowd: Crowd) -> None:
        await crowd.join()
        for queue in ("large", "small", "full", "other"):
            await stage.declare(*(a_job(f"{queue}-{number}", queue=queue) for number in range(9)))
        taken = await crowd.claim(room={"large": 2, "small": 1, "full": 0}, turns=1)
        for one in taken:
            by_queue = Counter(got.job.split("/")[1].split("-")[0] for got in one)
            assert by_queue <= Counter(large=2, small=1)
            assert not crowd.is_alone or by_queue == Counter(large=2, small=1)

    @scenario
    async def test_queues_that_are_not_asked_for_stay_as_they_are(self, stage: Stage, crowd: Crowd) -> None:
        await crowd.join()
        await stage.declare(a_job("ours", queue="ours"), a_job("theirs", queue="theirs"))
        before = await stage.record(f"{SOURCE}/theirs")
        taken = await crowd.claim_together(room={"ours": 9, "nobody's": 9})
        assert [one.job for one in taken] == [f"{SOURCE}/ours"]
        assert await stage.record(f"{SOURCE}/theirs") == before
        assert (await stage.store.wakes(["theirs"])).first == stage.now

    @scenario
    async def test_a_node_claims_only_kinds_that_it_can_run(self, stage: Stage, crowd: Crowd) -> None:
        await crowd.join(kinds=("python",))
        await stage.join("all-rounder")
        shell, python = a_job("shell", action=Action(kind="shell")), a_job("it", action=Action(kind="python"))
        await stage.declare(shell, wake_at=stage.now - SECOND)
        await stage.declare(python)
        before = await stage.record(shell.key)
        assert [one.job for one in await crowd.claim_together(room={"default": 1})] == [python.key]
        assert await stage.record(shell.key) == before
        assert [a.job for a in await stage.claim("all-rounder")] == [shell.key]

    @scenario
    async def test_a_node_may_serve_all_kinds_of_a_prefix(self, stage: Stage) -> None:
        await stage.join("a", kinds=("http:", "mail:welcome"))
        kinds = ("http", "http:get", "https", "https:get", "mail", "mail:welcome", "mail:welcome:again")
        await stage.declare(*(a_job(kind.replace(":", "-"), action=Action(kind=kind)) for kind in kinds))
        taken = {one.job.removeprefix(f"{SOURCE}/") for one in await stage.claim("a")}
        assert taken == {"http", "http-get", "mail-welcome"}
        assert await stage.backlog(["default"], stage.now, ("https:",)) == 2
        assert await stage.next_wake(["default"], ("https:",)) == stage.now
        assert await stage.next_wake(["default"], ("ftp:",)) is None

    @pytest.mark.parametrize("room", [1, 7, 40])
    @scenario
    async def test_jobs_of_many_kinds_are_claimed_in_the_order_of_their_times(
        self, stage: Stage, room: int
    ) -> None:
        await stage.join("a", kinds=("k:",))
        jobs = [a_job(f"job-{n:03}", action=Action(kind=f"k:{n * 7 % 11}")) for n in range(60)]
        for number, job in enumerate(jobs):  # several at the same time, and one kind with many
            await stage.declare(job, wake_at=stage.now - (20 - number // 3) * SECOND)
        times: list[object] = []
        while len(times) < len(jobs):
            claimed = await stage.claim_whole("a", {"default": room})
            assert claimed.more or len(claimed.runs) == min(room, len(jobs) - len(times))
            times += [run.attempt.scheduled_for for run in claimed.runs]
        assert times == sorted(times, key=str)

    @scenario
    async def test_tokens_of_a_job_only_grow(self, stage: Stage, crowd: Crowd) -> None:
        await crowd.join()
        jobs, turns = some_jobs(3), 20
        await stage.declare(*jobs, wake_at=stage.now - (turns - 1) * MINUTE)
        taken = await crowd.claim_together(room={"default": 2}, decide="start_each_minute", finishes=True)
        assert len({(one.run_key, one.number) for one in taken}) == len(taken) == len(jobs) * turns
        tokens = defaultdict(list)
        for one in sorted(taken, key=lambda one: one.run_key):  # occurrence after occurrence
            tokens[one.job].append(one.token)
        assert all(found == sorted(set(found)) for found in tokens.values())
        assert {len(found) for found in tokens.values()} == {turns}

    @scenario
    async def test_one_claim_id_asked_at_once_claims_once(self, stage: Stage, crowd: Crowd) -> None:
        await stage.join("impatient")
        await stage.declare(*some_jobs(20))
        order = Order("", "impatient", stage.now, {"default": 3}, turns=1, claim_id="the same")
        await crowd.carry_out([order] * len(crowd.nodes))
        held = await stage.open_keys("impatient")
        assert len(held) == 3, "the room was for three, however often it was asked"
        again = await stage.claim("impatient", {"default": 3}, claim_id="the same")
        assert {attempt.key for attempt in again} == held

    @scenario
    async def test_long_downtime_gives_one_run_for_each_job(self, stage: Stage, crowd: Crowd) -> None:
        jobs = some_jobs(20, schedule=Every(MINUTE))
        await stage.plan(*jobs)
        await stage.clock.advance(3 * HOUR + SECOND * 59)
        await crowd.join()
        taken = await crowd.claim_together(room={"default": 2}, decide="plan_due")
        assert sorted(one.job for one in taken) == keys_of(jobs)
        attempts = await stage.runs(is_open=True)
        assert {a.scheduled_for for a in attempts} == {stage.now - SECOND * 59}
        assert {a.covers_from for a in attempts} == {stage.now - 3 * HOUR + SECOND}

    # -- one after the other -----------------------------------------------------------------------

    @scenario
    async def test_what_is_claimed_says_what_is_to_be_done_and_whose_it_is(self, stage: Stage) -> None:
        job = a_job("whole", action=Action(kind="test", data={"text": "ä", "list": [1, None, {"x": 0.5}]}))
        await stage.join("a")
        await stage.declare(job)
        token = (await stage.record(job.key)).state.token
        claimed = await stage.claim_whole("a")
        ((definition, attempt),) = claimed.runs
        assert definition == job
        assert (attempt.job, attempt.node, attempt.claimed_at) == (job.key, "a", stage.now)
        assert attempt.state is AttemptState.RUNNING
        assert attempt.token > token
        assert [event.run_key for event in claimed.events] == [attempt.run_key]
        assert (await stage.record(job.key)).attempts == (attempt,)

    @scenario
    async def test_the_same_claim_id_gives_the_same_answer(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(*some_jobs(6))
        first = await stage.claim("a", {"default": 2}, claim_id="first")
        assert len(first) == 2
        await stage.claim("b", {"default": 1})
        await stage.claim("a", {"default": 1}, claim_id="second")
        await stage.clock.advance(SECOND)
        assert await stage.claim("a", {"default": 2}, claim_id="first") == first
        assert len(await stage.open_keys("a")) == 3

    @scenario
    async def test_a_repeated_claim_answers_in_the_same_order(self, stage: Stage) -> None:
        await stage.join("a")
        for name, waited in {"c": 1, "a": 3, "d": 2, "b": 4}.items():
            await stage.declare(a_job(name), wake_at=stage.now - waited * SECOND)
        first = await stage.claim("a", claim_id="first")
        assert [attempt.job[-1] for attempt in first] == ["b", "a", "d", "c"]
        assert await stage.claim("a", claim_id="first") == first

    @scenario
    async def test_the_room_takes_those_due_for_longest(self, stage: Stage) -> None:
        await stage.join("a")
        waits = {"c": 3, "a": 2, "d": 1, "b": 0}
        for name, seconds in waits.items():
            await stage.declare(a_job(name), wake_at=stage.now - seconds * SECOND)
        assert [a.job for a in await stage.claim("a", {"default": 3})] == [f"{SOURCE}/{n}" for n in "cad"]

    @scenario
    async def test_a_microsecond_decides_what_comes_first(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job("a"), wake_at=stage.now - TICK)
        await stage.declare(a_job("b"), wake_at=stage.now - 2 * TICK)
        assert [a.job for a in await stage.claim("a", {"default": 1})] == [f"{SOURCE}/b"]

    @scenario
    async def test_many_jobs_of_other_kinds_do_not_hide_one_of_ours(self, stage: Stage) -> None:
        others = some_jobs(1200, action=Action(kind="other"))
        await stage.join("a", kinds=("test",))
        await stage.declare(*others, wake_at=stage.now - SECOND)
        await stage.declare(a_job("ours"))
        claimed = await stage.claim_whole("a", {"default": 1})
        for _ in range(10):
            if not claimed.runs and claimed.more:
                claimed = await stage.claim_whole("a", {"default": 1})
        assert [attempt.job for _, attempt in claimed.runs] == [f"{SOURCE}/ours"]

    @scenario
    async def test_attempts_that_wait_are_each_claimed_once(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(a_job(), wake_at=stage.later(HOUR))
        await stage.store.update(f"{SOURCE}/job", open_pending(stage.now, "x", "y", "z"))
        found = []
        for node in "abab":
            found += await stage.claim(node)
            await stage.store.update(f"{SOURCE}/job", change(wake_at=stage.now))
            if len(found) == 3:
                break
        assert sorted(attempt.request or "" for attempt in found) == ["x", "y", "z"]
        assert len({attempt.token for attempt in found}) == 3
        assert {a.trigger for a in found} == {Trigger.MANUAL}

    @scenario
    async def test_a_decision_to_start_nothing_is_written_as_well(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job())
        skip = Skip(f"{SOURCE}/job", stage.now, stage.now, "the contract says so")
        claimed = await stage.claim_whole(
            "a",
            decide=lambda record, now, node, most: let_pass(record, now, node, most)._replace(skips=(skip,)),
        )
        assert claimed.runs == ()
        assert await stage.skips(f"{SOURCE}/job") == (skip,)
        assert (await stage.record(f"{SOURCE}/job")).state.wake_at is None
        assert await stage.claim("a") == []

    @scenario
    async def test_what_a_claim_asks_to_end_it_has_not_claimed(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.plan(a_job(policy=Policy(overlap=Overlap(mode=OverlapMode.REPLACE))))
        await stage.advance(HOUR)
        (running,) = await stage.claim("a", decide=plan_due)
        await stage.advance(HOUR)
        assert await stage.claim("b", decide=plan_due) == []
        assert (await stage.store.renew("a")).cancels == (running.key,)
        assert (await stage.store.renew("b")).open_count == 0

    @scenario
    async def test_a_tombstone_that_sleeps_is_not_claimed(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job())
        await stage.store.reconcile(
            SOURCE, await stage.store.revision(SOURCE), "gone", Changes(removed=("job",)),
            declared=declare_at(None, stage.now), removed=bury_job(stage.now),
        )  # fmt: skip
        assert await stage.claim("a") == []

    # -- who may not -------------------------------------------------------------------------------

    @scenario
    async def test_an_unknown_node_is_refused(self, stage: Stage) -> None:
        await stage.declare(a_job())
        with pytest.raises(NodeBuriedError):
            await stage.claim("nobody")
        assert await stage.runs() == ()

    @scenario
    async def test_a_buried_node_is_refused(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.bury("a")
        await stage.declare(a_job())
        with pytest.raises(NodeBuriedError):
            await stage.claim("a")
        assert await stage.runs() == ()

    @scenario
    async def test_a_node_that_left_is_refused(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.store.leave("a")
        await stage.declare(a_job())
        with pytest.raises(NodeBuriedError):
            await stage.claim("a")
        assert await stage.runs() == ()

    @scenario
    async def test_a_lease_that_ran_out_claims_nothing_until_it_is_renewed(self, stage: Stage) -> None:
        lease = await stage.join("a")
        await stage.outlive(lease)
        await stage.declare(a_job())
        assert await stage.claim("a", claim_id="late") == []
        await stage.store.renew("a")
        assert len(await stage.claim("a")) == 1

    # -- in the middle of a decision ---------------------------------------------------------------

    @scenario
    async def test_two_who_decide_at_once_do_not_both_win(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(a_job())

        theirs: list[Attempt] = []

        async def write(store: Store) -> None:
            claimed = await store.claim("b", stage.now, {"default": 1}, start_due, "b's")
            theirs.extend(attempt for _, attempt in claimed.runs)

        writer = ConcurrentWriter(stage, write)
        ours = await stage.claim("a", decide=writer.during(start_due))
        await writer.ended()
        assert [*ours, *theirs] == list(await stage.runs()), "what they were told is what is stored"
        assert len([*ours, *theirs]) == 1

    @scenario
    async def test_a_pause_in_the_middle_of_a_claim_is_not_overwritten(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job())
        pause = change(paused_at=stage.now)
        writer = ConcurrentWriter(stage, lambda store: store.update(f"{SOURCE}/job", pause))
        started = await stage.claim("a", decide=writer.during(start_due))
        await writer.ended()
        record = await stage.record(f"{SOURCE}/job")
        assert record.state.paused_at == stage.now
        assert list(record.attempts) == started

    @scenario
    async def test_a_node_buried_in_the_middle_of_its_claim_keeps_nothing(self, stage: Stage) -> None:
        lease = await stage.join("a")
        await stage.declare(a_job())

        async def write(store: Store) -> None:
            await stage.outlive(lease)
            await store.recover(100, stage.now, lose)

        writer = ConcurrentWriter(stage, write)
        with suppress(NodeBuriedError):  # as good an answer as an attempt that is lost at once
            await stage.claim("a", decide=writer.during(start_due))
        await writer.ended()
        for _ in range(2):
            await stage.recover()
        assert await stage.runs(is_open=True) == (), "nobody alive holds it, so it must not stay open"
