"""One case of the contract, played on a store with a planted mistake."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from foliot.protocols import Store
from foliot.testing.clock import ManualClock
from foliot.testing.contract import StoreContract
from foliot.testing.contract.stage import Stage


class _Contract(StoreContract):
    """What every store promises."""


def play_case(case: str, open_store: Callable[[ManualClock], AbstractAsyncContextManager[Store]]) -> None:
    """Play a case; AssertionError if the store does not keep it."""
    clock = ManualClock()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Store]:
        async with open_store(clock) as store:
            yield store

    test = getattr(_Contract(), case)
    stage = Stage(opened, clock)
    stage.head_start = 10  # the writer in the middle has ended by then, however busy the machine is
    facts = {"stage": stage, "count": 1}
    test(**{name: facts[name] for name in inspect.signature(test).parameters})
