"""Which rules there are, and how many jobs have each: remembered, because to count looks at every job."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from foliot.errors import FoliotError
from foliot.operations.rule_count import RuleCount, Rules
from foliot.protocols import Clock
from foliot.wiring import FullStore

FRESH = 120.0  # seconds
OLDEST = 1800.0  # seconds: an older count is not shown while a new one is made
_AT_ONCE = 5  # portions, while somebody waits; the others follow
_MOST = 20

Seen = Sequence[str | None]


@dataclass(slots=True)
class _Known:
    at: float
    rules: Rules
    task: asyncio.Task[None] | None = None


class RuleCounts:
    """Counts of what is seen: all sources, or some. Who asks first waits for a part of it only."""

    def __init__(self, store: FullStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._known: OrderedDict[tuple[str | None, ...], _Known] = OrderedDict()

    async def of(self, sources: Seen) -> tuple[Rules, bool]:
        """What is counted, and whether the count goes on.

        A count of more than two minutes is answered while a new one is made; one of half an hour is not.
        """
        key = tuple(sources)
        if key in self._known:
            self._known.move_to_end(key)
        known, now = self._known.get(key), self._clock.monotonic()
        if known is None or now - known.at > OLDEST:
            count = RuleCount(self._store, key)
            for _ in range(_AT_ONCE):
                if not count.is_over:
                    await count.go_on()
            known = self._known[key] = _Known(now, count.rules)
            self._go_on(known, count)
            self._forget_the_oldest()
        elif now - known.at > FRESH and known.task is None:
            self._go_on(known, RuleCount(self._store, key))
        return known.rules, known.rules.is_partial and known.task is not None

    def _go_on(self, known: _Known, count: RuleCount) -> None:
        if not count.is_over:
            known.task = asyncio.ensure_future(self._finish(known, count))

    async def _finish(self, known: _Known, count: RuleCount) -> None:
        was_partial = known.rules.is_partial
        try:
            with suppress(FoliotError):  # a store that is away: who asks next finds out
                while not count.is_over:
                    await count.go_on()
                    if was_partial:
                        known.rules = count.rules
                known.at, known.rules = self._clock.monotonic(), count.rules
        finally:
            known.task = None

    def _forget_the_oldest(self) -> None:
        """Those whose count goes on stay, and so does that of all jobs: to count them again costs most."""
        spare = [key for key, known in self._known.items() if known.task is None and key != (None,)]
        for key in spare[: max(0, len(self._known) - _MOST)]:
            del self._known[key]

    async def close(self) -> None:
        """Count no more."""
        tasks = [known.task for known in self._known.values() if known.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
