"""A store with many jobs and some history, as a page meets it."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Ending, Outcome
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.protocols import Changes, Output
from foliot.schedules import Cron
from foliot.wiring import FullStore

AT_ONCE = 10_000
SOURCES = 4
RULES = tuple(Cron(f"{minute} {hour} * * *") for hour in range(24) for minute in (0, 7, 15, 30, 42))
RUNNING = Cron("* * * * *")
_NODE = "bench"
KEPT = 100  # runs of a job: what the usual policy keeps


async def furnish(store: FullStore, jobs: int, runs: int) -> None:
    """Declare so many jobs, and more that have so many runs together: each as many as are usually kept."""
    now = await store.now()
    for source in range(SOURCES):
        declared = [_job(source, number) for number in range(source, jobs, SOURCES)]
        for begin in range(0, len(declared), AT_ONCE):
            await _declare(store, f"s{source}", declared[begin : begin + AT_ONCE], now)
    names = [f"b{n}" for n in range(max(2, runs // KEPT))]
    busy = [Job(source="busy", name=name, schedule=RUNNING, action=Action(kind="k")) for name in names]
    since = now - timedelta(minutes=KEPT + 1)
    await _declare(store, "busy", busy, since)
    slots = 2 * len(busy)
    await store.join(Node(_NODE, kinds=None, slots=(("default", slots),)))
    for turn in range(runs // len(busy)):
        await _turn(store, since + timedelta(minutes=turn + 1), slots)


def _job(source: int, number: int) -> Job:
    name, rule = f"job-{number:07}", RULES[number % len(RULES)]
    return Job(source=f"s{source}", name=name, schedule=rule, action=Action(kind="k"))


async def _declare(store: FullStore, source: str, jobs: list[Job], at: datetime) -> None:
    await store.reconcile(
        source, await store.revision(source), uuid4().hex, Changes(tuple(jobs)),
        declared=lambda job, record: plan_declared(job, record, at),
        removed=lambda record: plan_removed(record, at),
    )  # fmt: skip


async def _turn(store: FullStore, now: datetime, slots: int) -> None:
    """One minute: all busy jobs run; some fail."""
    claimed = await store.claim(_NODE, now, {"default": slots}, plan_due, uuid4().hex)
    endings = []
    for number, (_, attempt) in enumerate(claimed.runs):
        outcome = Outcome.FAILED if number % 9 == 0 else Outcome.SUCCEEDED
        ended = now + timedelta(seconds=1)
        job, (run, tried) = attempt.job, attempt.key
        endings.append(Ending(job, run, tried, attempt.token, outcome, now, ended, has_output=True))
    await store.write_outputs([Output(one.job, one.run_key, one.number, "done\n") for one in endings])
    await store.finish(_NODE, endings, now + timedelta(seconds=1), plan_ended)
