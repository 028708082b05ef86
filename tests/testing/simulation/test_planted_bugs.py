"""Bugs planted into the engine, the planner and the store: each is found within a few seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import pytest

from foliot.engine import draft, engine, planner
from foliot.engine.engine import Engine
from foliot.model.attempt import Ending
from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.protocols import DecideLost, Recovered
from foliot.stores import memory
from foliot.stores.memory import MemoryStore
from foliot.testing.history.check import check
from foliot.testing.history.report import Code
from foliot.testing.simulation.simulate import LEASE, MakeStore, simulate

MOST_SEEDS = 20
Plant = Callable[[pytest.MonkeyPatch], MakeStore]


def usual_store(clock: Any) -> MemoryStore:
    return MemoryStore(clock, lease=LEASE)


def drop_the_fence(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A finish counts for whatever attempt of that name is open, whoever holds it now."""

    def is_held(record: Record, ending: Ending, _: str) -> bool:
        return any(a.is_running and a.run_key == ending.run_key for a in record.attempts)

    def living(store: MemoryStore, node: str) -> Any:
        return store._nodes.get(node) or next(iter(store._nodes.values()))

    monkeypatch.setattr(memory, "_is_held", is_held)
    monkeypatch.setattr(MemoryStore, "_living", living)
    real = planner.plan_ended

    def end_any(record: Record, ending: Ending, now: datetime) -> Decision:
        held = next(a for a in record.attempts if a.is_running and a.run_key == ending.run_key)
        return real(record, ending._replace(token=held.token, number=held.number), now)

    monkeypatch.setattr(engine, "plan_ended", end_any)
    return usual_store


def recover_without_burying(_: pytest.MonkeyPatch) -> MakeStore:
    """Attempts of a node that is late are lost, but the node may go on as if nothing were."""

    class Hasty(MemoryStore):
        async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
            lives = dict(self._nodes)
            events = await super().recover(limit, now, decide)
            self._nodes = lives
            return events

    return lambda clock: Hasty(clock, lease=LEASE)


def reuse_tokens(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A claim does not raise the token: two claims look the same (ABA)."""
    real = planner.plan_due

    def due(record: Record, now: datetime, node: str) -> Decision:
        decision = real(record, now, node)
        attempts = tuple(
            a._replace(token=record.state.token - record.state.token % 2 + 1) if a.is_running else a
            for a in decision.attempts
        )
        return decision._replace(attempts=attempts)

    monkeypatch.setattr(engine, "plan_due", due)
    return usual_store


def trust_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """Now is what this host's clock says."""
    monkeypatch.setattr(Engine, "now", lambda self: self._clock.now())
    return usual_store


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
    monkeypatch.setattr(draft.Draft, "is_free", property(lambda _: True))
    return usual_store


BUGS: Iterable[tuple[Plant, set[Code]]] = [
    (drop_the_fence, {Code.STALE_FINISH, Code.FABRICATED, Code.TOKEN_MISMATCH, Code.UNEXPLAINED_LOSS}),
    (recover_without_burying, {Code.STALE_FINISH, Code.UNEXPLAINED_LOSS, Code.OVERLAP, Code.DUP_CLAIM}),
    (reuse_tokens, {Code.TOKEN_NOT_MONOTONIC}),
    (trust_the_wall_clock, {Code.EARLY, Code.LATE, Code.MISSED}),
    (catch_up_everything, set()),
    (skip_without_a_trace, {Code.MISSED}),
    (drop_the_lost, {Code.ORPHAN_DROPPED}),
    (ignore_open_runs, {Code.OVERLAP, Code.DUP_SLOT, Code.DUP_CLAIM}),
]


@pytest.mark.parametrize(("plant", "codes"), BUGS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_planted_bug_is_found(plant: Plant, codes: set[Code], monkeypatch: pytest.MonkeyPatch) -> None:
    make_store = plant(monkeypatch)

    for seed in range(MOST_SEEDS):
        found = {
            violation.code for violation in check(simulate(seed, make_store=make_store).history).violations
        }
        if found:
            assert not codes or found & codes
            return
    pytest.fail(f"{MOST_SEEDS} seeds did not show it")
