"""Histories that are written and pruned in any order: what a store is to find of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from hypothesis import strategies as st

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.policy import Keep, Policy
from foliot.protocols import Changes, RunQuery, Store
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, a_job, change, declare_at, forget, untouched

CLOCK = ManualClock()
KEY = f"{SOURCE}/job"

moments = st.builds(
    lambda hours: CLOCK.now() - timedelta(hours=hours),
    st.integers(0, 60),
)


def an_attempt(at: datetime, number: int, request: str | None, outcome: Outcome | None) -> Attempt:
    """One of the past, or, without an outcome, one that waits. A request is made at one moment only."""
    return Attempt(
        KEY, number, Trigger.BACKFILL, AttemptState.ENDED if outcome else AttemptState.PENDING, at,
        request=request and f"{request}-{at:%d-%H}", finished_at=at if outcome else None, outcome=outcome,
    )  # fmt: skip


attempts = st.builds(
    an_attempt,
    moments,
    st.integers(1, 3),
    st.sampled_from([None, None, "a", "b"]),
    st.sampled_from([*Outcome, None, None]),
)
steps = st.lists(st.one_of(st.lists(attempts, max_size=5), st.integers(1, 20)), max_size=12)
keeps = st.builds(
    Keep, last=st.sampled_from([None, 1, 3]), days=st.sampled_from([None, 1]), problems_only=st.booleans()
)

# An instant that others still link to is forgotten, and comes again.
CAME_AGAIN: list[list[Attempt] | int] = [
    [an_attempt(CLOCK.now() - timedelta(hours=n), 1, None, Outcome.SUCCEEDED) for n in (0, 25, 1)],
    1,
    [an_attempt(CLOCK.now() - timedelta(hours=25), 1, None, Outcome.SUCCEEDED)],
]


async def check(store: Store, keep: Keep, steps: list[list[Attempt] | int]) -> None:
    """After each step the history of a job is all that is stored, and the newest of it come first."""
    jobs = a_job(policy=Policy(keep=keep)), a_job("other")
    now = CLOCK.now()
    await store.reconcile(
        SOURCE, None, "r1", Changes(jobs), declared=declare_at(None, now), removed=untouched
    )
    for step in steps:
        if isinstance(step, int):
            await store.prune(now, step)
        else:
            await write(store, step)
        shown = await store.runs(RunQuery(job=KEY, limit=1000))
        everything = await store.runs(RunQuery(limit=1000))
        assert {attempt.key for attempt in shown} == {attempt.key for attempt in everything}
        assert _places(shown) == _places(everything)
        for count in (1, 2, 5):
            assert _places(await store.runs(RunQuery(job=KEY, limit=count))) == _places(shown)[:count]
        await _check_what_is_found(store, shown)
    await store.update(KEY, forget)


async def _check_what_is_found(store: Store, shown: tuple[Attempt, ...]) -> None:
    since = CLOCK.now() - timedelta(hours=20)
    found = await store.runs(RunQuery(job=KEY, since=since))
    assert found == tuple(attempt for attempt in shown if attempt.scheduled_for >= since)
    for outcome in (Outcome.SUCCEEDED, Outcome.FAILED):
        found = await store.runs(RunQuery(job=KEY, outcome=outcome, limit=3))
        assert _places(found) == _places([a for a in shown if a.outcome is outcome])[:3]
    found = await store.runs(RunQuery(job=KEY, is_open=True))
    assert _places(found) == _places([attempt for attempt in shown if attempt.is_open])


def _places(attempts: Sequence[Attempt]) -> list[tuple[datetime, int]]:
    return [(attempt.scheduled_for, attempt.number) for attempt in attempts]


async def write(store: Store, wanted: list[Attempt]) -> None:
    """As any decision may: attempts that are there and have ended stay ended."""
    ended = {a.key for a in await store.runs(RunQuery(job=KEY, is_open=False, limit=1000))}
    good = tuple(a for a in wanted if not (a.is_open and a.key in ended))
    last = {a.key: a for a in good}
    await store.update(KEY, lambda record: change()(record)._replace(attempts=tuple(last.values())))
