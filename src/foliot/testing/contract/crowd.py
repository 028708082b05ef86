"""Claimers: one alone, or four at once as tasks, as threads, or as processes of the operating system.

All start together, so that they race. What holds for one must hold for any number of any kind.
"""

# ruff: noqa: S101 - part of a test suite: it asserts, and pytest shows what was wrong

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from itertools import count
from typing import Any

from foliot.testing.contract.order import Order, Taken, carry_out
from foliot.testing.contract.process import work_together
from foliot.testing.contract.stage import PATIENCE, Stage

KINDS = ("alone", "tasks", "threads", "processes")
SIZE = 4


class Crowd:
    """Some claimers of one kind, each of them a node of its own."""

    def __init__(self, stage: Stage, kind: str) -> None:
        self._stage = stage
        self._kind = kind
        self._numbers = count(1)
        self.nodes = [f"node-{number}" for number in range(1 if kind == "alone" else SIZE)]

    @property
    def is_alone(self) -> bool:
        """Whether there is one claimer only, so that what it gets is certain."""
        return len(self.nodes) == 1

    async def join(self, **facts: Any) -> None:
        """All of them begin their lives."""
        await self._stage.join(*self.nodes, **facts)

    async def claim(self, **facts: Any) -> list[list[Taken]]:
        """Let all claim at once; what each took, in its order."""
        number, now = next(self._numbers), self._stage.now
        usual = [Order(f"{node}-{number}", node, now) for node in self.nodes]
        return await self.carry_out([order._replace(**facts) for order in usual])

    async def claim_together(self, **facts: Any) -> list[Taken]:
        """Let all claim at once; what they took, all in all."""
        return [taken for one in await self.claim(**facts) for taken in one]

    async def carry_out(self, orders: Sequence[Order]) -> list[list[Taken]]:
        """Let each claimer carry out its order."""
        stage = self._stage
        if self._kind == "threads":
            return await self._in_threads(orders)
        if self._kind == "processes":
            assert stage.sharing is not None
            works = [{"claim": order.to_json()} for order in orders]
            answers = await work_together(stage.sharing, stage.now, works)
            return [[Taken(*row) for row in answer] for answer in answers]
        return await asyncio.gather(*(carry_out(stage.store, order) for order in orders))

    async def _in_threads(self, orders: Sequence[Order]) -> list[list[Taken]]:
        barrier = threading.Barrier(len(orders), timeout=PATIENCE)

        async def opened(order: Order) -> list[Taken]:
            async with self._stage.open_store() as store:
                barrier.wait()
                return await carry_out(store, order)

        def in_a_thread(order: Order) -> list[Taken]:
            return asyncio.run(opened(order))

        return await asyncio.gather(*(asyncio.to_thread(in_a_thread, order) for order in orders))
