"""A machine that does anything in any order to a store, beside a model so small that it must be right.

The model knows only what a node knows: what it was given, under which token, and how it ended. It does
not predict what the planner decides. What it insists on:

- a (run, number) is claimed at most once, and each claim of a job has a higher token than the one before;
- an attempt ends once, and only by its own node, or because that node was buried;
- what runs by the store is exactly what was claimed and has not ended: nothing is lost, nothing appears;
- `wakes` gives the earliest `wake_at` there is, and a job that has something to do will be looked at;
- a call whose answer was lost can be made again.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from foliot.engine.plan_command import Backfill, Cancel, Command, Pause, Resume, RunNow, plan_command
from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.engine.reconciler import reconcile
from foliot.errors import CommandRefusedError, JobNotFoundError, NodeBuriedError
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.job import Job
from foliot.model.policy import Keep
from foliot.model.state import Node
from foliot.protocols import Claimed, SkipQuery, Snapshot
from foliot.testing.contract.sample import fitting
from stores.model import (
    ALL,
    POLICIES,
    QUEUES,
    SCHEDULES,
    SOURCE,
    Asked,
    Held,
    Life,
    Model,
    a_job,
    check_that_somebody_looks,
)

TIMES = tuple(timedelta(seconds=seconds) for seconds in (0, 1, 7, 25, 40, 61, 300, 7200, 200_000))
OUTCOMES = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.TIMED_OUT, Outcome.INTERRUPTED)
index = st.integers(0, 11)


jobs = st.builds(
    a_job,
    st.sampled_from(sorted(POLICIES)),
    st.sampled_from(SCHEDULES),
    st.sampled_from(QUEUES),
    enabled=st.sampled_from([True, True, True, False]),
    auto_remove=st.sampled_from([False, False, True]),
)
snapshots = st.lists(jobs, max_size=len(POLICIES), unique_by=lambda job: job.name).map(tuple)


class StoreMachine(Model, RuleBasedStateMachine):
    """To try another store, subclass it and say how the store is opened (`open_store`)."""

    def __init__(self) -> None:
        RuleBasedStateMachine.__init__(self)
        Model.__init__(self)

    def teardown(self) -> None:
        try:
            for node, life in self.lives.items():
                if not life.is_buried:
                    self.do(self.store.leave(node))
            self.do(self.store.recover(ALL, self.now, plan_lost))
            assert self.running() == {}, "what nobody holds any more must end"
        finally:
            self.do(self.opened.__aexit__(None, None, None))
            self.runner.close()

    # -- nodes -------------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        self.join()
        self.declare(tuple(a_job(name, SCHEDULES[0], QUEUES[0]) for name in POLICIES), is_lost=False)

    @precondition(lambda self: sum(not life.is_buried for life in self.lives.values()) < 4)
    @rule()
    def join(self) -> None:
        node = self.fresh("node")
        self.do(self.store.join(Node(node, queues=QUEUES)))
        lease = self.do(self.store.join(Node(node, queues=QUEUES)))  # joining twice is a renewal
        assert lease.until > lease.store_now
        assert lease.open_count == 0
        self.lives[node] = Life(lease.until)

    @rule(number=index)
    def renew(self, number: int) -> None:
        node = self.node(number)
        if self.lives[node].is_buried:
            with pytest.raises(NodeBuriedError):
                self.do(self.store.renew(node))
            return
        lease = self.do(self.store.renew(node))
        self.lives[node] = Life(lease.until)
        held = {attempt.key for attempt in self.held_by(node)}
        assert lease.open_count == len(held)
        assert {attempt.key for attempt in self.do(self.store.held(node))} == held
        assert set(lease.cancels) <= held

    @rule(number=index)
    def leave(self, number: int) -> None:
        node = self.node(number)
        with suppress(NodeBuriedError):
            self.do(self.store.leave(node))
        self.bury(node)

    @rule(duration=st.sampled_from(TIMES))
    def sleep(self, duration: timedelta) -> None:
        """Nobody renews: nodes may be dead when it is over."""
        self.do(self.clock.advance(duration))

    def live_on(self, duration: timedelta) -> None:
        self.do(self.clock.advance(duration))
        for number, node in enumerate(self.lives):
            if not self.lives[node].is_buried:
                self.renew(number)

    @rule(
        duration=st.sampled_from(TIMES),
        number=index,
        size=st.integers(0, 4),
        outcome=st.sampled_from((Outcome.SUCCEEDED, *OUTCOMES)),
        is_lost=st.booleans(),
    )
    def work(self, duration: timedelta, number: int, size: int, outcome: Outcome, *, is_lost: bool) -> None:
        """What happens most: time passes, all live, one claims, and reports some of what it holds."""
        self.live_on(duration)
        living = [n for n, life in enumerate(self.lives.values()) if not life.is_buried]
        if living:
            chosen = living[number % len(living)]
            self.claim(chosen, 4, 4, is_lost=is_lost)
            self.report(self.node(chosen), size, outcome, is_lost=is_lost)

    # -- runs --------------------------------------------------------------------------------------

    @rule(number=index, fast=st.integers(0, 4), slow=st.integers(0, 2), is_lost=st.booleans())
    def claim(self, number: int, fast: int, slow: int, *, is_lost: bool, unfit: str = "") -> None:
        node, room, claim_id = self.node(number), {"fast": fast, "slow": slow}, self.fresh("claim")
        decide = fitting(lambda key: key != unfit, plan_due)

        def call() -> Claimed:
            return self.do(self.store.claim(node, self.now, room, decide, claim_id))

        if self.lives[node].is_buried:
            with pytest.raises(NodeBuriedError):
                call()
            return
        claimed = call()
        if is_lost:
            assert call().runs == claimed.runs
        assert not (claimed.runs and self.is_over(node)), "its lease was over"
        for queue, free in room.items():
            assert sum(job.queue == queue for job, _ in claimed.runs) <= free
        for _, attempt in claimed.runs:
            self.take(node, attempt)
        keys = frozenset(attempt.key for _, attempt in claimed.runs)
        if keys:  # an answer that was nothing need not be remembered
            self.asked.append(Asked(node, claim_id, room, keys, self.lives[node].until))

    @precondition(lambda self: self.births)
    @rule(number=index, unfit=index, is_lost=st.booleans())
    def pass_over(self, number: int, unfit: int, *, is_lost: bool) -> None:
        """A node that cannot carry out one of the jobs leaves it as it is."""
        key = list(self.births)[unfit % len(self.births)]
        before = self.records().get(key)
        self.claim(number, 4, 4, is_lost=is_lost, unfit=key)
        assert self.records().get(key) == before

    def take(self, node: str, attempt: Attempt) -> None:
        assert attempt.node == node
        assert attempt.key not in self.held, "claimed twice"
        assert attempt.key not in self.ended, "claimed again after it had ended"
        assert attempt.token > self.tokens.get(attempt.job, -1), "tokens only grow"
        assert attempt.request is not None or attempt.scheduled_for <= self.now, "too early"
        self.tokens[attempt.job] = attempt.token
        self.held[attempt.key] = Held(node, attempt)

    @precondition(lambda self: self.asked)
    @rule(number=index)
    def claim_again(self, number: int) -> None:
        asked = self.asked[-1 - number % len(self.asked)]
        if self.lives[asked.node].is_buried or self.now >= asked.until:
            return
        answer = self.do(self.store.claim(asked.node, self.now, asked.room, plan_due, asked.claim_id))
        keys = {attempt.key for _, attempt in answer.runs}
        assert asked.keys & set(self.held) <= keys <= asked.keys

    @precondition(lambda self: self.held)
    @rule(number=index, size=st.integers(1, 4), outcome=st.sampled_from(OUTCOMES), is_lost=st.booleans())
    def finish(self, number: int, size: int, outcome: Outcome, *, is_lost: bool) -> None:
        self.report(list(self.held.values())[number % len(self.held)].node, size, outcome, is_lost=is_lost)

    def report(self, node: str, size: int, outcome: Outcome, *, is_lost: bool) -> None:
        attempts = self.held_by(node)[:size]
        endings = [self.ending(attempt, outcome) for attempt in attempts]
        if self.lives[node].is_buried:
            with pytest.raises(NodeBuriedError):
                self.do(self.store.finish(node, endings, self.now, plan_ended))
            return
        finished = self.do(self.store.finish(node, endings, self.now, plan_ended))
        assert finished.refused == ()
        if is_lost:
            again = self.do(self.store.finish(node, endings, self.now, plan_ended))
            assert [refused.ending for refused in again.refused] == endings
        for attempt in attempts:
            self.end(attempt.key)

    @precondition(lambda self: self.held or self.ended)
    @rule(number=index, other=index)
    def finish_what_is_not_ones_own(self, number: int, other: int) -> None:
        known = list(self.ended.values())[-12:] + list(self.held.values())[-12:]
        owner, attempt = known[number % len(known)]
        node = self.node(other) if attempt.key in self.held else owner
        if node == owner and attempt.key in self.held:
            return
        ending = self.ending(attempt, Outcome.FAILED)
        if self.lives[node].is_buried:
            with pytest.raises(NodeBuriedError):
                self.do(self.store.finish(node, [ending], self.now, plan_ended))
        else:
            finished = self.do(self.store.finish(node, [ending], self.now, plan_ended))
            assert [refused.ending for refused in finished.refused] == [ending]

    def ending(self, attempt: Attempt, outcome: Outcome) -> Ending:
        at = attempt.claimed_at
        return Ending(
            attempt.job, attempt.run_key, attempt.number, attempt.token, outcome, at, self.now, outcome
        )

    @rule(limit=st.sampled_from([1, 2, ALL]), is_lost=st.booleans())
    def recover(self, limit: int, *, is_lost: bool) -> None:
        for node, life in self.lives.items():
            if self.now > life.until:
                self.bury(node)
        calls = 1 + is_lost
        for _ in range(calls):
            self.do(self.store.recover(limit, self.now, plan_lost))
        running = self.running()
        lost = [key for key in self.held if key not in running]
        assert all(self.lives[self.held[key].node].is_buried for key in lost), "lost, though its node lives"
        assert len(lost) <= limit * calls
        for key in lost:
            self.end(key)
        if len(lost) < limit * calls:
            left = [held for held in self.held.values() if self.lives[held.node].is_buried]
            assert left == [], "what the buried held must be recovered"

    # -- people and sources ------------------------------------------------------------------------

    @rule(jobs=snapshots, is_lost=st.booleans())
    def declare(self, jobs: tuple[Job, ...], *, is_lost: bool) -> None:
        self.do(
            self.clock.advance(timedelta(seconds=1))
        )  # a job that begins anew counts its tokens from the time
        snapshot = Snapshot(self.fresh("revision"), jobs)
        self.do(reconcile(self.store, SOURCE, snapshot, self.now))
        if is_lost:
            assert self.do(reconcile(self.store, SOURCE, snapshot, self.now)) == ()
        there = {key: record.job for key, record in self.records().items() if not record.state.removed_at}
        declared = {job.key: job for job in jobs}
        assert there.items() <= declared.items()
        # One that removes itself may have nothing left to do from the start.
        assert {key for key in declared if not declared[key].auto_remove} <= set(there)

    @precondition(lambda self: self.births)
    @rule(
        number=index,
        command=st.sampled_from(["run", "pause", "resume", "cancel", "backfill", "rerun"]),
        is_lost=st.booleans(),
    )
    def ask(self, number: int, command: str, *, is_lost: bool) -> None:
        key = list(self.births)[number % len(self.births)]
        asked = self.command(key, command)
        if asked is None:
            return
        for _ in range(1 + is_lost):
            with suppress(CommandRefusedError, JobNotFoundError):
                self.do(self.store.update(key, lambda record: plan_command(record, asked, self.now)))

    def command(self, key: str, command: str) -> Command | None:
        # Of a job whose history is pruned nobody knows what has run; there every request is a new one.
        keeps_all = POLICIES[key.removeprefix(f"{SOURCE}/")].keep == Keep()
        match command:
            case "run":
                return RunNow("the same request" if keeps_all else self.fresh("request"))
            case "pause":
                return Pause()
            case "resume":
                return Resume()
            case "cancel":
                running = [attempt.run_key for attempt in self.runs(job=key, is_open=True)]
                return Cancel(running[0]) if running else None
        ran: dict[datetime, int] = {}
        for attempt in self.runs(job=key):
            if attempt.request is None:
                ran[attempt.scheduled_for] = max(attempt.number, ran.get(attempt.scheduled_for, 0))
        first = self.now - timedelta(minutes=4)
        return Backfill(first, self.now, ran, command == "rerun") if keeps_all else None

    def skip_count(self) -> int:
        return sum(len(self.do(self.store.skips(SkipQuery(key, limit=10_000)))) for key in self.records())

    @rule(limit=st.sampled_from([1, 5, ALL]))
    def prune(self, limit: int) -> None:
        before, skips = {attempt.key for attempt in self.runs()}, self.skip_count()
        open_ones = {attempt.key for record in self.records().values() for attempt in record.attempts}
        pruned = self.do(self.store.prune(self.now, limit))
        gone = before - {attempt.key for attempt in self.runs()}
        assert len(gone) + skips - self.skip_count() == pruned.forgotten <= limit
        assert not gone & open_ones

    # -- always ------------------------------------------------------------------------------------

    @invariant()
    def all_is_well(self) -> None:
        views, attempts, wakes = self.do(self.look())
        records = {view.key: view.record for view in views if view.record is not None}
        assert [view.damage for view in views if view.damage] == [], "none of them is damaged"
        self.forget_the_forgotten(records)
        self.check_attempts(records, attempts)
        self.check_wakes(records, wakes)
        for record in records.values():
            check_that_somebody_looks(record)
