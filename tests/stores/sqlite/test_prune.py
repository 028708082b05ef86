"""Of a history that is too long to be read at once, the newest part is pruned first, and then the rest."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from foliot.model.attempt import Outcome
from foliot.model.policy import Keep, Policy
from foliot.protocols import Changes, RunQuery
from foliot.stores.sqlite import SqliteStore, chain, prune
from foliot.testing.clock import ManualClock
from foliot.testing.contract.history import KEY, ended, write_down
from foliot.testing.contract.sample import SOURCE, a_job, declare_at, untouched

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
HOURS = 60


@pytest.mark.parametrize(
    ("keep", "count"),
    [
        (Keep(last=3, days=None), 3),
        (Keep(last=23, days=None), 23),
        (Keep(last=None, days=1), 24),
        (Keep(last=None, days=None, problems_only=True), HOURS // 2 + 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("step", [1, 7])  # 7: the hours are not written in their order
@pytest.mark.parametrize("limit", [4, 1000])
def test_in_the_end_what_the_policy_keeps_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: Keep, count: int, *, step: int, limit: int
) -> None:
    monkeypatch.setattr(prune, "MOST_MOMENTS", 7)
    past = [
        ended(NOW - timedelta(hours=hours), Outcome.FAILED if hours % 2 else Outcome.SUCCEEDED)
        for hours in (number * step % (HOURS + 1) for number in range(HOURS, 0, -1))
    ]

    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", ManualClock(NOW)) as store:
            job = a_job("job", policy=Policy(keep=keep))
            await store.reconcile(
                SOURCE, None, "r1", Changes((job,)), declared=declare_at(None, NOW), removed=untouched
            )
            newest_first = sorted(past, key=lambda attempt: attempt.scheduled_for, reverse=True)
            for attempt in past:
                await store.update(KEY, write_down([attempt], last_run=newest_first[0].run_key))
            while (await store.prune(NOW, limit)).forgotten:
                pass
            left = await store.runs(RunQuery(job=KEY, limit=1000))
            assert len(left) == count
            assert len(await store.runs(RunQuery(limit=1000))) == count, "all are in the chain"
            if not keep.problems_only:
                assert list(left) == newest_first[:count]

    asyncio.run(act())


def test_no_more_is_read_of_a_long_history_than_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "MOST_MOMENTS", 7)
    monkeypatch.delattr(chain, "attempts_of")  # which reads all of it
    past = [ended(NOW - timedelta(hours=hours)) for hours in range(HOURS, 0, -1)]

    async def act() -> None:
        async with SqliteStore(tmp_path / "jobs.db", ManualClock(NOW)) as store:
            job = a_job("job", policy=Policy(keep=Keep(last=3, days=None)))
            await store.reconcile(
                SOURCE, None, "r1", Changes((job,)), declared=declare_at(None, NOW), removed=untouched
            )
            await store.update(KEY, write_down(past, last_run=past[-1].run_key))
            assert (await store.prune(NOW, 1000)).forgotten == 3

    asyncio.run(act())
