"""Bugs to be planted into the engine, the planner and the store, and what shows them.

Ten must be found (FAULTS, R15). Eight of them are found here, by the simulation; two need real processes or a
real server, and are in `testing.faults.planted`, with some that both can find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from math import inf
from typing import Any, NamedTuple

import pytest

from foliot.engine import draft, engine, planner
from foliot.engine.engine import Engine
from foliot.engine.runner import Runner
from foliot.engine.store_clock import StoreClock
from foliot.model.attempt import Ending, Refused
from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.protocols import DecideEnded, DecideLost, Finished, Recovered, Run
from foliot.stores.memory import MemoryStore, store
from foliot.stores.memory.nodes import Nodes
from foliot_proof.history.report import Code
from foliot_proof.simulation.faulty_store import FaultyStore
from foliot_proof.simulation.simulate import LEASE, MakeStore
from foliot_proof.simulation.world import HostClock

SECOND = timedelta(seconds=1)
Plant = Callable[[pytest.MonkeyPatch], MakeStore]


def usual_store(clock: Any) -> MemoryStore:
    return MemoryStore(clock, lease=LEASE)


def drop_the_fence(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A finish counts for whatever attempt of that name is open, whoever holds it now."""

    def part_held(
        record: Record | None, endings: Sequence[Ending], _: str
    ) -> tuple[list[Ending], list[Refused]]:
        running = {a.run_key for a in record.attempts if a.is_running} if record else set()
        held = [ending for ending in endings if ending.run_key in running]
        return held, [Refused(ending, "") for ending in endings if ending not in held]

    def living(nodes: Nodes, node: str) -> Any:
        lives = nodes.lives
        return lives.get(node) or next(iter(lives.values()))

    monkeypatch.setattr(store, "part_held", part_held)
    monkeypatch.setattr(Nodes, "living", living)
    real = planner.plan_ended

    def end_any(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
        held = {a.run_key: a for a in record.attempts if a.is_running}
        believed = [e._replace(token=held[e.run_key].token, number=held[e.run_key].number) for e in endings]
        return real(record, believed, now)

    monkeypatch.setattr(engine, "plan_ended", end_any)
    return usual_store


def recover_without_burying(_: pytest.MonkeyPatch) -> MakeStore:
    """Attempts of a node that is late are lost, but the node may go on as if nothing were."""

    class Hasty(MemoryStore):
        async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
            lives = dict(self._nodes.lives)
            events = await super().recover(limit, now, decide)
            self._nodes.lives = lives
            return events

    return lambda clock: Hasty(clock, lease=LEASE)


def reuse_tokens(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A claim does not raise the token: two claims look the same (ABA)."""
    real = planner.plan_due

    def due(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
        decision = real(record, now, node, most)
        attempts = tuple(
            a._replace(token=record.state.token - record.state.token % 2 + 1) if a.is_running else a
            for a in decision.attempts
        )
        return decision._replace(attempts=attempts)

    monkeypatch.setattr(engine, "plan_due", due)
    return usual_store


def trust_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """Now is what this host's clock says."""
    monkeypatch.setattr(StoreClock, "now", lambda self: self._clock.now())
    return usual_store


def judge_leases_by_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A lease ends when the clock of the node's own host says so."""
    stores: list[MemoryStore] = []

    def make_store(clock: Any) -> MemoryStore:
        stores.append(usual_store(clock))
        return stores[-1]

    real = FaultyStore._write_down

    def write_down(store: FaultyStore, verb: str, arguments: tuple[Any, ...], answer: Any) -> None:
        real(store, verb, arguments, answer)
        if verb in ("join", "renew"):
            node, lives = getattr(arguments[0], "id", arguments[0]), stores[-1]._nodes.lives
            lives[node] = lives[node]._replace(until=lives[node].until + store._host.offset)

    monkeypatch.setattr(FaultyStore, "_write_down", write_down)
    return make_store


def catch_up_everything(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """Every missed occurrence gets its run, whatever the policy says."""

    def open_due(plan: draft.Draft, window: Any) -> None:
        plan.serve(window.last, window.following)
        planner._open_all(plan, window)

    monkeypatch.setattr(planner, "_open_due", open_due)
    monkeypatch.setattr(planner, "latest_of", lambda job, window, _: _all_of(job, window))
    return usual_store


def _all_of(job: Any, window: Any) -> list[datetime]:
    from foliot.engine.calendar import latest_of  # noqa: PLC0415 - the real one, not the planted

    return latest_of(job, window, 50)


def skip_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """What does not run is not written down."""
    monkeypatch.setattr(draft.Draft, "skip", lambda *_: None)
    return usual_store


def drop_the_lost(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A lost run is not started again."""
    monkeypatch.setattr(planner, "_restart", lambda *_: None)
    return usual_store


def ignore_open_runs(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """An occurrence starts whether a run is open or not."""
    monkeypatch.setattr(draft.Draft, "is_busy", property(lambda _: False))
    monkeypatch.setattr(draft.Draft, "places", property(lambda _: None))
    return usual_store


# -- bugs that need both nets torn ------------------------------------------------------------------
# What a claim started and its answer lost is found twice over: by the claim's id, and by the heartbeat's
# count. Either net alone heals the other's hole, so a bug is planted into both.


def forget_claims(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A claim that is asked again claims anew, and nobody ends what the first one started."""
    monkeypatch.setattr(MemoryStore, "_remember", lambda *_: None)
    monkeypatch.setattr(Engine, "_end_unknown_attempts", _do_nothing)
    return usual_store


def start_without_a_lease(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """Neither the node nor the store asks whether the lease has run out."""
    monkeypatch.setattr(StoreClock, "is_sure", True)
    monkeypatch.setattr(StoreClock, "is_steady", lambda *_: True)

    real = Nodes.living

    def living(nodes: Nodes, node: str) -> Any:
        return real(nodes, node)._replace(until=datetime.max.replace(tzinfo=UTC))

    monkeypatch.setattr(Nodes, "living", living)
    return usual_store


def lose_endings(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """An end that the store did not take is forgotten."""
    monkeypatch.setattr(Runner, "give_back", lambda *_: None)
    monkeypatch.setattr(Engine, "_end_unknown_attempts", _do_nothing)
    return usual_store


async def _do_nothing(*_: object) -> None:
    pass


# -- bugs of time and of order -----------------------------------------------------------------------


def settle_before_the_commit(_: pytest.MonkeyPatch) -> MakeStore:
    """Now and then the store says that an end was written, and it was not."""

    class Forgetful(MemoryStore):
        asked = 0

        async def finish(
            self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
        ) -> Finished:
            self.asked += 1
            return Finished() if self.asked % 20 == 0 else await super().finish(node, endings, now, decide)

    return lambda clock: Forgetful(clock, lease=LEASE)


def count_from_the_end(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """The next occurrence is searched from when the run ended; what came meanwhile is gone."""
    real = planner.plan_ended

    def ended(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
        decision = real(record, endings, now)
        state, following = decision.state, record.job.schedule.next_after(now)
        if decision.remove or following is None or state.wake_at is None or state.wake_at != state.next_at:
            return decision
        late = state._replace(next_at=following, wake_at=following, served_until=now, token=state.token + 1)
        return decision._replace(state=late)

    monkeypatch.setattr(engine, "plan_ended", ended)
    return usual_store


def run_ahead_of_time(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A node's clock is a minute and a half ahead of the store's."""
    real = StoreClock.now
    monkeypatch.setattr(StoreClock, "now", lambda self: real(self) + 90 * SECOND)
    return usual_store


def wait_for_ever_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A call to a store that was cut off has no deadline."""
    real = FaultyStore._travel

    async def travel(store: FaultyStore, verb: str) -> None:
        if store._host.is_cut_off:
            await HostClock(store._world, store._host).wait(1000 * LEASE)
        await real(store, verb)

    monkeypatch.setattr(FaultyStore, "_travel", travel)
    return usual_store


def bury_the_living(_: pytest.MonkeyPatch) -> MakeStore:
    """A node is given up when half of its lease is left."""

    class Impatient(MemoryStore):
        async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
            lives = self._nodes.lives
            for node, life in lives.items():
                lives[node] = life._replace(until=life.until - LEASE / 2)
            return await super().recover(limit, now, decide)

    return lambda clock: Impatient(clock, lease=LEASE)


def bury_by_the_stores_clock_alone(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A lease that the store's clock has jumped over is over, though its node has missed no heartbeat.

    A node that waits until others had time to renew hides it: it does not wait here.
    """
    monkeypatch.setattr(StoreClock, "is_steady", lambda *_: True)

    class Credulous(MemoryStore):
        async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
            return await super().recover(limit, max(now, self._clock.now()), decide)

    return lambda clock: Credulous(clock, lease=LEASE)


def run_what_has_run(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """When the store's clock was set back by hours, what has run since then runs again under its key."""

    monkeypatch.setattr(MemoryStore, "_has_run", lambda *_: False)
    return usual_store


def bury_right_after_a_jump(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """Who notices a jump of the store's clock does not wait until others have noticed it."""
    real = StoreClock.take

    def take(store_clock: StoreClock, lease: Any, asked_at: float) -> bool:
        is_first, steady_since = store_clock._steady_since == inf, store_clock._steady_since
        has_leapt = real(store_clock, lease, asked_at)
        if has_leapt and not is_first:
            store_clock._steady_since = steady_since
        return has_leapt

    monkeypatch.setattr(StoreClock, "take", take)
    return usual_store


def let_zombies_go_on(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A node that was buried begins anew, and does not end what it ran."""

    async def abandon(runner: Runner, _: object) -> None:
        runner._endings.clear()

    monkeypatch.setattr(Runner, "abandon", abandon)
    return usual_store


def start_twice(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """One claim in fifty is started twice."""
    real, starts = Runner.start, count(1)

    def start(runner: Runner, runs: Sequence[Run]) -> None:
        real(runner, runs)
        for run in runs:
            if next(starts) % 50 == 0:
                runner._executors["simulated"].start(run, lambda *_: None)

    monkeypatch.setattr(Runner, "start", start)
    return usual_store


class Bug(NamedTuple):
    """A planted bug, the codes that fit, and where to look: what shows it late is looked for late.

    `of_the_ten` is its name in R15, if it has one. Seeds that take long before they show it are passed over.
    """

    plant: Plant
    codes: set[Code]
    first_seed: int = 0
    days: int = 30
    of_the_ten: str = ""


BUGS = [
    Bug(
        drop_the_fence,
        {Code.STALE_FINISH, Code.FABRICATED, Code.TOKEN_MISMATCH, Code.UNEXPLAINED_LOSS},
        first_seed=1,
        of_the_ten="drop fence",
    ),
    Bug(recover_without_burying, {Code.STALE_FINISH, Code.UNEXPLAINED_LOSS, Code.OVERLAP}),
    Bug(reuse_tokens, {Code.TOKEN_NOT_MONOTONIC}, first_seed=1, of_the_ten="ABA claim"),
    Bug(trust_the_wall_clock, {Code.EARLY, Code.LATE, Code.MISSED}, first_seed=1),
    Bug(
        judge_leases_by_the_wall_clock,
        {Code.STUCK, Code.UNEXPLAINED_LOSS, Code.LATE},
        first_seed=3,
        of_the_ten="wall-clock lease",
    ),
    Bug(
        catch_up_everything,
        {Code.DUP_SLOT, Code.LATE, Code.WRONG_COALESCE},
        first_seed=2,
        of_the_ten="catch-up loop",
    ),
    Bug(skip_without_a_trace, {Code.MISSED}, first_seed=2, of_the_ten="skip w/o reason"),
    Bug(drop_the_lost, {Code.ORPHAN_DROPPED, Code.STUCK}, first_seed=1),
    Bug(ignore_open_runs, {Code.OVERLAP, Code.DUP_SLOT, Code.DUP_CLAIM}, first_seed=1),
    Bug(forget_claims, {Code.STUCK}, first_seed=3),
    Bug(start_without_a_lease, {Code.UNEXPLAINED_LOSS, Code.OVERLAP}, first_seed=91),
    Bug(lose_endings, {Code.STUCK, Code.MISSED, Code.WRONG_SKIP, Code.LATE}, first_seed=3),
    Bug(
        settle_before_the_commit,
        {Code.LATE, Code.STUCK, Code.STALE_FINISH},
        first_seed=1,
        of_the_ten="settle before commit",
    ),
    Bug(count_from_the_end, {Code.MISSED}, first_seed=28, of_the_ten="now-based cursor"),
    Bug(run_ahead_of_time, {Code.EARLY}, days=3),
    Bug(
        wait_for_ever_for_an_answer,
        {Code.STUCK, Code.OVERLAP, Code.MISSED},
        first_seed=9,
        of_the_ten="no-deadline store call",
    ),
    Bug(bury_the_living, {Code.UNEXPLAINED_LOSS}, first_seed=1),
    Bug(bury_by_the_stores_clock_alone, {Code.UNEXPLAINED_LOSS}),
    Bug(run_what_has_run, {Code.DUP_CLAIM}),
    Bug(bury_right_after_a_jump, {Code.UNEXPLAINED_LOSS}, first_seed=191),
    Bug(let_zombies_go_on, {Code.OVERLAP}),
    Bug(start_twice, {Code.DUP_EFFECT}, first_seed=1),
]
