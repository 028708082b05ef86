"""What happens in a planner's world: jobs with any policy, faults, people and changed definitions."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from functools import partial

from foliot.engine.plan_command import Backfill, Cancel, Pause, Resume, RunNow
from foliot.model.job import Action, Job
from foliot.model.policy import (
    FirstSeen,
    Keep,
    Misfire,
    MisfireMode,
    OnChange,
    OnLost,
    Overlap,
    OverlapMode,
    Policy,
    Retry,
)
from foliot.protocols import RunQuery
from foliot.schedules import Cron, Every, Once, Schedule
from foliot_proof.history import History, Trouble
from history.planner_world import START, World, answer, second

RULES = ("* * * * *", "*/2 * * * *", "*/5 * * * *", "*/15 * * * *", "30 * * * *", "7,37 20-23 * * *")
FAULTS = (Trouble.DOWN, Trouble.DOWN, Trouble.PAUSED, Trouble.PARTITIONED)


def draw_life(seed: int, *, has_slots: bool = False) -> History:
    """What the planner made of a few hours."""
    return Life(seed, has_slots=has_slots).world.run()


class Life:
    """A world, and the plan of all that will happen in it."""

    def __init__(self, seed: int, *, has_slots: bool) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - chance that can be repeated
        jobs = [self.job(f"job{number}") for number in range(3)]
        slots = self.rng.choice([1, 2, 4]) if has_slots else None
        self.world = World(
            seed, jobs, hours=self.rng.choice([1, 2]), machines=self.rng.randint(1, 3), slots=slots
        )
        self.length = self.world.quiet_at - START
        for job in jobs:
            at = START + second(self.rng.choice([0, 0, self.rng.uniform(0, 600)]))
            self.world.at(at, partial(self.world.declare, job))
        self.plan_faults()
        for _ in range(self.rng.randint(0, 8)):
            at = START + self.length * self.rng.random()
            at = at.replace(second=0, microsecond=0) if self.rng.random() < 0.3 else at
            self.world.at(at, partial(self.let_somebody_act, self.rng.choice(jobs).key))

    # -- jobs --------------------------------------------------------------------------------------

    def job(self, name: str) -> Job:
        rng = self.rng
        return Job(
            source="s",
            name=name,
            schedule=self.schedule(),
            action=Action(kind="x"),
            policy=self.policy(),
            enabled=rng.random() < 0.95,
        )

    def schedule(self) -> Schedule:
        kind = self.rng.random()
        if kind < 0.8:
            return Cron(self.rng.choice(RULES), timezone=self.rng.choice(["UTC", "Europe/Berlin"]))
        return Every(self.rng.choice(["90s", "7m"])) if kind < 0.95 else Once(START + timedelta(minutes=40))

    def policy(self) -> Policy:
        rng = self.rng
        return Policy(
            first_seen=rng.choice(list(FirstSeen)),
            misfire=Misfire(
                mode=rng.choice(list(MisfireMode)),
                limit=rng.randint(1, 3),
                grace=second(rng.choice([0, 60, 300])),
            ),
            before_first_run=rng.random() < 0.5,
            on_change=rng.choice(list(OnChange)),
            overlap=Overlap(mode=rng.choice(list(OverlapMode)), limit=rng.choice([None, 1, 2])),
            retry=Retry(
                max=rng.choice([0, 0, 1, 3, None]),
                delay=second(rng.choice([0, 10, 45])),
                backoff=rng.choice([1, 2]),
                jitter=rng.choice([0, 0.5]),
                is_preempted=rng.random() < 0.5,
            ),
            on_lost=rng.choice(list(OnLost)),
            timeout=rng.choice([None, None, second(60)]),
            keep=Keep(last=None, days=None),
            remembers=rng.random() < 0.7,
        )

    # -- what happens ------------------------------------------------------------------------------

    def plan_faults(self) -> None:
        rng, world = self.rng, self.world
        for _ in range(rng.randint(0, 5)):
            length = second(rng.choice([3, 20, 40, 100, 400, 2000]) * rng.uniform(0.5, 1.5))
            at = START + self.length * rng.random()
            world.trouble(rng.choice(world.machines), rng.choice(FAULTS), at, length)
        if rng.random() < 0.5:
            at, length = START + self.length * rng.random(), second(rng.choice([3, 40, 400, 3000]))
            for machine in world.machines:
                world.trouble(machine, Trouble.DOWN, at + second(rng.random()), length)

    def let_somebody_act(self, key: str) -> None:
        world, name = self.world, key.partition("/")[2]
        acts = (self.cancel, self.fill_in, self.ask)
        match self.rng.randrange(10):
            case 0 | 1:
                world.command(key, Pause())
            case 2 | 3:
                world.command(key, Resume())
            case 4 | 5:
                world.declare(self.job(name))
            case 6:
                world.remove(key)
            case number:
                acts[number - 7](key)

    def ask(self, key: str) -> None:
        self.world.command(key, RunNow(f"request{self.rng.randrange(10**6)}"))

    def cancel(self, key: str) -> None:
        found = answer(self.world.store.runs(RunQuery(job=key, is_open=True)))
        if found:
            self.world.command(key, Cancel(self.rng.choice(found).run_key))

    def fill_in(self, key: str) -> None:
        now = self.world.clock.time
        ran: dict[datetime, int] = {}
        for attempt in answer(self.world.store.runs(RunQuery(job=key, limit=10**9))):
            if attempt.request is None:
                ran[attempt.scheduled_for] = max(ran.get(attempt.scheduled_for, 0), attempt.number)
        self.world.command(key, Backfill(now - second(600), now - second(200), ran, self.rng.random() < 0.6))
