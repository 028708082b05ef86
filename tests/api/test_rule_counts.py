"""Counts of rules: who asks first gets a part of them, and the rest follows without anybody waiting."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

from foliot.api import rule_counts
from foliot.api.rule_counts import RuleCounts
from foliot.model.job import Action, Job
from foliot.model.query import RulePage
from foliot.schedules import Cron
from foliot.testing.clock import ManualClock
from foliot.wiring import FullStore

JOB = Job(source="s", name="-", schedule=Cron("0 4 * * *"), action=Action(kind="k"))
PORTIONS = 8


class Counting:
    """A store of so many portions, that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def rules(self, source: str | None, after: str, most: int) -> RulePage:
        del source
        await asyncio.sleep(0)  # noqa: TID251 - others have their turn
        self.asked += 1
        number = int(after or "0") + 1
        return RulePage(((JOB, most),), most, str(number) if number < PORTIONS else None)


def test_the_first_answer_is_a_part_and_the_rest_follows() -> None:
    async def ask() -> None:
        store, clock = Counting(), ManualClock()
        counts = RuleCounts(cast("FullStore", store), clock)
        rules, is_growing = await counts.of((None,))
        assert (rules.is_partial, is_growing) == (True, True)
        assert store.asked == rule_counts._AT_ONCE
        await _quiet(counts)
        rules, is_growing = await counts.of((None,))
        assert (rules.is_partial, is_growing) == (False, False)
        assert store.asked == PORTIONS
        assert rules.counts.total() == PORTIONS * 20_000

    asyncio.run(ask())


def test_an_old_count_is_shown_while_a_new_one_is_made() -> None:
    async def ask() -> None:
        store, clock = Counting(), ManualClock()
        counts = RuleCounts(cast("FullStore", store), clock)
        await counts.of((None,))
        await _quiet(counts)
        await clock.advance(timedelta(seconds=rule_counts.FRESH + 1))
        rules, is_growing = await counts.of((None,))
        assert (rules.is_partial, is_growing) == (False, False)
        await _quiet(counts)
        assert store.asked == 2 * PORTIONS

    asyncio.run(ask())


def test_a_count_ends_with_the_service() -> None:
    async def ask() -> None:
        store = Counting()
        counts = RuleCounts(cast("FullStore", store), ManualClock())
        await counts.of((None,))
        await counts.close()
        assert store.asked < PORTIONS
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(ask())


async def _quiet(counts: Any) -> None:
    await asyncio.gather(*(known.task for known in counts._known.values() if known.task is not None))
