"""What a claimer is told to do, and what it gives back: the same for tasks, threads and processes."""

# ruff: noqa: S101 - part of a test suite: it asserts, and pytest shows what was wrong

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from foliot.engine.planner import plan_due
from foliot.protocols import NO_LIMITS, DecideDue, Store
from foliot.testing.contract.sample import end, ending_of, start_due, start_each_minute, start_own

# By name, because another process cannot be handed a function.
DECIDES: Mapping[str, DecideDue] = {
    "start_due": start_due,
    "start_each_minute": start_each_minute,
    "start_own": start_own,
    "plan_due": plan_due,
}
ROOM: Mapping[str, int] = {"default": 1000}


class Order(NamedTuple):
    """Claim until nothing is left, but at most so many times.

    `claim_id`: the one that all its claims carry; otherwise each has its own, that begins with `name`.
    `finishes`: what was claimed succeeds at once.
    """

    name: str
    node: str
    now: datetime
    room: Mapping[str, int] = ROOM
    decide: str = "start_due"
    turns: int = 10_000
    claim_id: str | None = None
    finishes: bool = False
    limits: Mapping[str, int] = NO_LIMITS

    def to_json(self) -> dict[str, Any]:
        """As another process gets it."""
        return self._asdict() | {
            "now": self.now.isoformat(),
            "room": dict(self.room),
            "limits": dict(self.limits),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Order:
        """As it was."""
        return cls(**data | {"now": datetime.fromisoformat(data["now"])})


class Taken(NamedTuple):
    """One attempt that a claimer got."""

    node: str
    job: str
    run_key: str
    number: int
    token: int


async def carry_out(store: Store, order: Order) -> list[Taken]:
    """Claim as ordered."""
    taken: list[Taken] = []
    for turn in range(order.turns):
        id_ = order.claim_id or f"{order.name}-{turn}"
        decide = DECIDES[order.decide]
        claimed = await store.claim(order.node, order.now, order.room, decide, id_, order.limits)
        attempts = [attempt for _, attempt in claimed.runs]
        taken += (Taken(order.node, a.job, a.run_key, a.number, a.token) for a in attempts)
        if order.finishes and attempts:
            endings = [ending_of(attempt, order.now) for attempt in attempts]
            finished = await store.finish(order.node, endings, order.now, end)
            assert not finished.refused, f"{order.node} could not finish what it had claimed"
        if not attempts and not claimed.more:
            break
    return taken
