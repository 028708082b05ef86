"""Histories that are longer than is read at once: each store is to forget what the memory store forgets."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from foliot.model.attempt import Attempt, Outcome
from foliot.model.policy import Keep, Policy
from foliot.protocols import Changes, RunQuery, Store
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.history import ended, write_down
from foliot.testing.contract.sample import SOURCE, a_job, declare_at, untouched

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
HOURS = 60
MOST = 7
NAMES = ("a", "b", "c")
KEEPS = {
    "few": Keep(last=3, days=None),
    "more than are read at once": Keep(last=23, days=None),
    "by age": Keep(last=None, days=1),
    "by age and count": Keep(last=50, days=2),
    "for long": Keep(last=None, days=99),
    "all": Keep(last=None, days=None),
}


def a_past(key: str, draw: random.Random) -> list[Attempt]:
    """Runs of each hour, some of them tried twice."""
    found = []
    for hours in range(HOURS, 0, -1):
        at = NOW - timedelta(hours=hours)
        for number in range(1, draw.choice((1, 1, 2)) + 1):
            outcome = draw.choice((Outcome.SUCCEEDED, Outcome.FAILED))
            found.append(ended(at, outcome, number)._replace(job=key))
    return found


async def fill(store: Store, keep: Keep, pasts: dict[str, list[Attempt]]) -> None:
    jobs = tuple(a_job(name, policy=Policy(keep=keep)) for name in NAMES)
    await store.reconcile(
        SOURCE, None, "r1", Changes(jobs), declared=declare_at(None, NOW), removed=untouched
    )
    for key, past in pasts.items():
        for start in range(0, len(past), 10):
            await store.update(key, write_down(past[start : start + 10]))


async def prune_all(store: Store, limit: int) -> int:
    """Again and again, until there is no more; how much was forgotten."""
    total = 0
    for _ in range(1000):
        forgotten, more = await store.prune(NOW, limit)
        assert forgotten <= limit
        total += forgotten
        if not more:
            return total
    raise AssertionError("it never ends")


async def kept(store: Store) -> set[tuple[str, int]]:
    """What each job remembers, found by its own links; the same must be in the store as a whole."""
    runs = [a for name in NAMES for a in await store.runs(RunQuery(job=f"{SOURCE}/{name}", limit=1000))]
    assert len(await store.runs(RunQuery(limit=1000))) == len(runs)
    return {attempt.key for attempt in runs}


async def check_that_the_same_is_forgotten(
    store: Store, keep: Keep, limit: int, *, is_in_order: bool
) -> None:
    draw = random.Random(7)  # noqa: S311 - the same each time
    pasts = {f"{SOURCE}/{name}": a_past(f"{SOURCE}/{name}", draw) for name in NAMES}
    if not is_in_order:
        for past in pasts.values():
            draw.shuffle(past)
    whole = MemoryStore(ManualClock(NOW))
    for each in (whole, store):
        await fill(each, keep, pasts)
    forgotten, of_the_whole = await prune_all(store, limit), await prune_all(whole, 1000)
    if keep.days is not None and not is_in_order:
        return  # backfills in a history that is too long to be read: see `prune.OLDEST`
    assert await kept(store) == await kept(whole)
    assert forgotten == of_the_whole
    assert forgotten or keep in (KEEPS["all"], KEEPS["for long"])
