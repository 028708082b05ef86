"""Histories that are too long to be read at once: what each store is to make of them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from foliot.model.attempt import Attempt, Outcome
from foliot.model.policy import Keep, Policy
from foliot.protocols import Changes, Pruned, RunQuery, Store
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.history import ended, write_down
from foliot.testing.contract.sample import SOURCE, a_job, declare_at, forget, untouched

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
HOURS = 60
MOST = 7
NAMES = ("a", "b", "c")
KEEPS = {
    "few": Keep(last=3, days=None),
    "more than are read at once": Keep(last=23, days=None),
    "by age": Keep(last=None, days=1),
    "by age and count": Keep(last=50, days=2),
    "problems": Keep(last=None, days=None, problems_only=True),
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
        last_run = max(past, key=lambda attempt: attempt.scheduled_for).run_key
        for start in range(0, len(past), 10):
            await store.update(key, write_down(past[start : start + 10], last_run=last_run))


async def prune_all(store: Store, limit: int) -> int:
    """Lap after lap, until one of them forgets nothing; how much was forgotten."""
    total, lap, after = 0, 0, ""
    for _ in range(1000):
        forgotten, after = await store.prune(NOW, limit, after)
        assert forgotten <= limit
        total, lap = total + forgotten, lap + forgotten
        if not after:
            if not lap:
                return total
            lap = 0
    raise AssertionError("it never ends")


async def kept(store: Store) -> set[tuple[str, int]]:
    """What each job remembers, found by its own chain; the same must be in the store as a whole."""
    runs = [a for name in NAMES for a in await store.runs(RunQuery(job=f"{SOURCE}/{name}", limit=1000))]
    assert len(await store.runs(RunQuery(limit=1000))) == len(runs)
    return {attempt.key for attempt in runs}


async def check_that_the_same_is_forgotten(
    store: Store, keep: Keep, limit: int, *, is_in_order: bool
) -> None:
    """By parts never more than of the whole; and no less, but for parts that would need to know of others."""
    draw = random.Random(7)  # noqa: S311 - the same each time
    pasts = {f"{SOURCE}/{name}": a_past(f"{SOURCE}/{name}", draw) for name in NAMES}
    if not is_in_order:
        for past in pasts.values():
            draw.shuffle(past)
    whole = MemoryStore(ManualClock(NOW))
    for each in (whole, store):
        await fill(each, keep, pasts)
    forgotten, of_the_whole = await prune_all(store, limit), await prune_all(whole, 1000)
    is_simple = (keep.last or 0) < MOST and not keep.problems_only  # no part need know of the others
    assert await kept(store) >= await kept(whole)
    assert 0 < forgotten <= of_the_whole or keep in (KEEPS["all"], KEEPS["for long"])
    assert not (is_in_order or is_simple) or forgotten == of_the_whole


async def check_that_others_are_looked_at(store: Store) -> None:
    """Of a long history nothing is forgotten: it is read to its end, and then the next job's."""
    past = a_past(f"{SOURCE}/a", random.Random(1))  # noqa: S311 - the same each time
    await fill(store, KEEPS["for long"], {f"{SOURCE}/a": past, f"{SOURCE}/b": past[-1:]})
    places = [(await store.prune(NOW, 1000)).after]
    while places[-1]:
        places.append((await store.prune(NOW, 1000, places[-1])).after)
    assert len(places) == len(set(places)) <= HOURS // (MOST - 1) + 3
    assert f"{SOURCE}/a" in places


async def check_that_a_place_is_of_one_job(store: Store) -> None:
    """Another job of the same name, declared since, is not looked at as if it were the same."""
    key, keep = f"{SOURCE}/a", KEEPS["more than are read at once"]
    past = [ended(NOW - timedelta(hours=hours))._replace(job=key) for hours in range(20, 0, -1)]
    await fill(store, keep, {key: past})
    place = (await store.prune(NOW, 1000, (await store.prune(NOW, 1000)).after)).after
    await store.update(key, forget)
    while (await store.prune(NOW, 1000)).forgotten:
        pass
    await _declare(store, keep, "r2")
    await store.update(key, write_down(past[::-1], last_run=past[-1].run_key))
    assert await store.prune(NOW, 1000, place) == Pruned(0, key)
    assert len(await kept(store)) == len(past)


async def check_that_a_moment_that_came_again_is_no_place(store: Store) -> None:
    """It was forgotten, and written once more: it stands at the beginning of the history now."""
    key, keep = f"{SOURCE}/a", Keep(last=20, days=None)
    good = (1, 3, 7)  # the last moment of the first part is among them
    past = [
        ended(NOW - timedelta(hours=h), Outcome.SUCCEEDED if h in good else Outcome.FAILED)._replace(job=key)
        for h in range(20, 0, -1)
    ]
    await fill(store, keep, {key: past})
    place = (await store.prune(NOW, 1000)).after
    await _declare(store, KEEPS["problems"], "r2")
    assert await prune_all(store, 1000) == len(good) - 1
    await _declare(store, keep, "r3")
    await store.update(key, write_down([past[-7]]))
    while place:
        forgotten, place = await store.prune(NOW, 1000, place)
        assert forgotten == 0


async def _declare(store: Store, keep: Keep, revision: str) -> None:
    base = f"r{int(revision[1:]) - 1}"
    jobs = Changes((a_job("a", policy=Policy(keep=keep)),))
    await store.reconcile(SOURCE, base, revision, jobs, declared=declare_at(None, NOW), removed=untouched)
