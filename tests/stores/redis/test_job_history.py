"""Questions about one job decode what they show, however long its history is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from foliot.engine.plan_command import RunNow, plan_command
from foliot.engine.plan_definition import PlanDeclared
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Attempt, Outcome
from foliot.model.policy import Keep
from foliot.model.state import Node
from foliot.protocols import Changes, RunQuery
from foliot.schedules import Cron
from foliot.stores.optimistic import rows
from foliot.stores.redis import RedisStore
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import SOURCE, a_job, untouched
from stores.redis.playing import ROOM, play

KEY = f"{SOURCE}/job"
TIMES = 120
AT_ONCE = 20  # attempts that are read together


async def live(store: RedisStore, clock: ManualClock) -> list[Attempt]:
    """A job that ran each minute, each third time by request as well; one run is open. All its attempts."""
    await store.join(Node("a"))
    job = a_job(schedule=Cron("* * * * *"))
    job = replace(job, policy=replace(job.policy, keep=Keep(last=None, days=None)))
    declared = PlanDeclared(clock.now())
    await store.reconcile(SOURCE, None, "r", Changes((job,)), declared=declared, removed=untouched)
    for turn in range(TIMES):
        clock.set_by(timedelta(minutes=1))
        await store.renew("a")
        if turn % 12 == 0:
            command = partial(plan_command, command=RunNow(f"r{turn}"), now=clock.now())
            await store.update(KEY, command)
        for part in "xy":
            runs = (await store.claim("a", clock.now(), ROOM, plan_due, f"{part}{turn}")).runs
            outcome = Outcome.FAILED if turn == 3 else Outcome.SUCCEEDED
            ends = [
                run.ending(outcome, clock.now(), clock.now(), "no" if turn == 3 else None) for run in runs
            ]
            if turn < TIMES - 1:
                await store.finish("a", ends, clock.now(), plan_ended)
    return list(await store.runs(RunQuery(job=KEY, limit=1000)))


def test_a_page_decodes_no_more_than_it_shows(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    read = rows.read_ended

    def noted(key: str, text: str | bytes) -> Any:
        seen.append(key)
        return read(key, text)

    monkeypatch.setattr(rows, "read_ended", noted)

    async def act(store: RedisStore, clock: ManualClock) -> None:
        everything = await live(store, clock)
        assert len(everything) > TIMES
        seen.clear()
        assert list(await store.runs(RunQuery(job=KEY, limit=5))) == everything[:5]
        assert 0 < len(seen) <= AT_ONCE
        seen.clear()
        assert list(await store.runs(RunQuery(run_key=everything[50].run_key, limit=5))) == [everything[50]]
        assert len(seen) == 1
        seen.clear()
        assert [one.is_open for one in await store.runs(RunQuery(job=KEY, is_open=True))] == [True]
        assert seen == []
        since, until = everything[40].scheduled_for, everything[30].scheduled_for
        found = await store.runs(RunQuery(job=KEY, since=since, until=until, limit=100))
        assert list(found) == [one for one in everything if since <= one.scheduled_for < until]
        assert len(seen) == len(found)

    play(url, act)


def test_pages_of_a_job_follow_one_another(url: str) -> None:
    async def act(store: RedisStore, clock: ManualClock) -> None:
        everything = await live(store, clock)
        found: list[Attempt] = []
        after: str | None = ""
        while after is not None:
            page = await store.runs(RunQuery(job=KEY, limit=7, after=after))
            found += page
            after = page.next
        assert found == everything
        failed = await store.runs(RunQuery(job=KEY, outcome=Outcome.FAILED, limit=2))
        assert list(failed) == [one for one in everything if one.outcome is Outcome.FAILED][:2]
        assert len(failed) >= 1

    play(url, act)
