"""Some minutes of one node with jobs of many kinds: played as herds, and decided about one by one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.policy import Keep, Policy, Retry
from foliot.model.state import Node
from foliot.protocols import Changes, RunQuery
from foliot.schedules import Cron, Every, Once
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import MINUTE, SECOND, SOURCE, a_job

ROOM = {"default": 200}
NAMES = ["plain", "with, a comma", 'with "quotes"', "ü/ñ", "日本", "back\\slash"]


def decide_one_by_one(*facts: Any) -> Any:
    """The same planner, as a function that is not asked about many."""
    return plan_due(*facts)


def kinds_of_jobs() -> list[Job]:
    policies = [
        Policy(),
        Policy(timeout=MINUTE, keep=Keep(last=3, days=None)),
        Policy(keep=Keep(last=None, days=2), retry=Retry(max=1, delay=SECOND)),
        Policy(splay=20 * SECOND),
    ]
    schedules = [Cron("* * * * *"), Every(2 * MINUTE), Once(ManualClock().now() + 3 * MINUTE)]
    return [
        a_job(
            f"{name}-{number}",
            schedule=schedules[number % 3],
            policy=policies[number % 4],
            action=Action(kind=f"kind-{number % 2}", data={"n": number, "text": name} if number % 5 else {}),
        )
        for number, name in enumerate(NAMES * 4)
    ]


async def live(store: Any, clock: ManualClock, decide: Any, look: Any) -> list[Any]:
    """Some minutes of one node, in which some runs fail; what was seen after each step."""
    seen: list[Any] = []
    jobs = tuple(kinds_of_jobs())
    now = clock.now()
    await store.join(Node("node"))
    await store.reconcile(
        SOURCE, None, "r1", Changes(jobs), declared=PlanDeclared(now), removed=lambda r: plan_removed(r, now)
    )
    for turn in range(9):
        await clock.advance(MINUTE)
        await store.renew("node")
        claimed = await store.claim("node", clock.now(), ROOM, decide, f"c{turn}")
        seen.append((look(), sorted(repr(tuple(run)) for run in claimed.runs)))
        await clock.advance(timedelta(milliseconds=5))
        ends = [
            run.ending(Outcome.FAILED, None, clock.now(), "no")
            if (number + turn) % 7 == 0
            else run.ending(Outcome.SUCCEEDED, clock.now(), clock.now(), exit_code=turn % 2 or None)
            for number, run in enumerate(sorted(claimed.runs, key=lambda run: run.key))
        ]
        finished = await store.finish("node", ends, clock.now(), plan_ended)
        assert finished.refused == ()
        seen.append((look(), sorted(map(repr, finished.events))))
    seen.append(sorted(map(repr, await store.runs(RunQuery(limit=1000)))))
    return seen
