"""A whole simulation: several nodes, a month, everything that the scenario holds, and the records of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple, cast

from foliot.engine.plan_command import Cancel, Command, Pause, Resume, RunNow, plan_command
from foliot.engine.reconciler import reconcile
from foliot.engine.settings import Settings
from foliot.errors import CommandRefusedError, JobNotFoundError
from foliot.model.chain import CHANNEL
from foliot.model.job import Job
from foliot.protocols import (
    AlertQuery,
    AlertStore,
    JobQuery,
    NodeStore,
    RunQuery,
    SkipQuery,
    Snapshot,
    Store,
)
from foliot.stores.memory import MemoryStore
from foliot.testing.virtual_loop import run_virtually
from foliot_proof.history.facts import Bounds, History, Operation, Trouble
from foliot_proof.simulation.company import GROUP, LIMIT, Company
from foliot_proof.simulation.faulty_store import Weather
from foliot_proof.simulation.logbook import Logbook
from foliot_proof.simulation.node import SimulatedNode, tag_tasks
from foliot_proof.simulation.scenario import SOURCE, Happening, Scenario, draw_scenario, redraw
from foliot_proof.simulation.watched import Mood, draw_mood
from foliot_proof.simulation.world import START, StoreClock, World

LEASE = timedelta(hours=2)
_DEADLINE = timedelta(seconds=20)  # of a call to the store
SETTINGS = Settings(
    slots={"default": 20},
    groups={GROUP: LIMIT},
    beat=timedelta(minutes=40),
    poll=timedelta(hours=4),
    recover=timedelta(hours=1),
    prune=timedelta(days=1),
    drain=timedelta(minutes=5),
)
QUIET = timedelta(hours=16)
_EVERYTHING = 10_000_000
_LONGEST_WAIT = timedelta(days=2)  # for a node to deliver
_OPERATIONS = {
    RunNow: Operation.RUN_NOW,
    Pause: Operation.PAUSE,
    Resume: Operation.RESUME,
    Cancel: Operation.CANCEL,
}

MakeStore = Callable[[StoreClock], Store]


BOUNDS = Bounds(
    eps=timedelta(seconds=30),
    skew=timedelta(seconds=1),
    lease=LEASE,
    beat=SETTINGS.beat,
    recover=SETTINGS.recover,
    poll=SETTINGS.poll,
    heal=timedelta(minutes=1),
)


class Simulated(NamedTuple):
    """What became of a seed: the logs, and the digest of everything that happened.

    `passed_over`: how often a node left a job to others; `unfit_starts`: how many it should have left.
    """

    seed: int
    history: History
    digest: str
    passed_over: int = 0
    unfit_starts: int = 0
    company: tuple[str, ...] = ()  # laws of the jobs beside that were broken


def simulate(
    seed: int,
    *,
    days: int = 30,
    nodes: int = 3,
    make_store: MakeStore = lambda clock: MemoryStore(clock, lease=LEASE),
    has_company: bool = False,
) -> Simulated:
    """Let nodes live through a scenario; what became of it."""
    simulation = Simulation(seed, days=days, nodes=nodes, make_store=make_store)
    simulation.has_company = has_company
    return run_virtually(simulation.run())


class Simulation:
    """One seed's history in the making."""

    def __init__(self, seed: int, *, days: int, nodes: int, make_store: MakeStore) -> None:
        self._scenario = draw_scenario(seed, days=days, nodes=nodes, lease=LEASE)
        self._days = days
        self._count = nodes
        self._make_store = make_store
        self._chance = Random(f"people {seed}")  # noqa: S311 - chance that can be repeated
        self._world = World(seed)
        self._clock = StoreClock(self._world)
        self._seed = seed
        self._logbook = Logbook()
        self._declared: dict[str, Job] = {}
        self._paused: set[str] = set()
        self._nodes: list[SimulatedNode] = []
        self._revision = 0
        self.has_company = False  # jobs beside those of the scenario: see `company`
        self._company: Company | None = None

    async def run(self) -> Simulated:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(tag_tasks)
        self._store = self._make_store(self._clock)
        if self.has_company:
            self._company = Company(self._seed, cast("NodeStore", self._store))
        self._nodes = [self._make_node(number) for number in range(self._count)]
        await self._declare({job.name: job for job in self._scenario.jobs})
        for node in self._nodes:
            node.start()
        later = [asyncio.ensure_future(self._let_happen(h)) for h in self._scenario.happenings]
        await self._sleep_until(START + timedelta(days=self._days))
        for task in later:
            task.cancel()
        await self._calm_down()
        return await self._collect()

    def _make_node(self, number: int) -> SimulatedNode:
        scenario = self._scenario
        return SimulatedNode(
            f"host-{number}",
            world=self._world,
            store=self._store,
            settings=SETTINGS,
            weather=_weather(scenario),
            logbook=self._logbook,
            newest=lambda: self._revision,
            moods=self._moods(number),
            company=self._company,
        )

    def _moods(self, number: int) -> dict[str, Mood]:
        """The channels of a host. The last host does not have the secrets of all of them."""
        names = self._scenario.channels
        return {
            name: draw_mood(name, self._seed) for name in names if name == "ops" or number + 1 < self._count
        }

    async def _sleep_until(self, instant: datetime) -> None:
        await asyncio.sleep((instant - self._world.now).total_seconds())  # noqa: TID251 - virtual time

    # -- what happens ------------------------------------------------------------------------------

    async def _let_happen(self, happening: Happening) -> None:
        await self._sleep_until(happening.at)
        self._world.note(happening.what, happening.node, happening.job)
        if happening.job:
            await self._to_job(happening)
        elif happening.what == "set_clock":
            self._set_clock(happening.by)
            await self._wait(happening)
            self._set_clock(timedelta(0))
        elif happening.what == "blackout":
            for node in self._nodes:
                node.crash()
            await self._wait(happening)
            for node in self._nodes:
                node.start()
        else:
            await self._to_node(happening, self._nodes[happening.node])

    def _set_clock(self, offset: timedelta) -> None:
        """The store's clock is set; from now on it is off by so much."""
        now = self._world.now
        self._logbook.over(None, Trouble.CLOCK, now)
        self._world.store_offset = offset
        if offset:
            self._logbook.begin(None, Trouble.CLOCK, now, offset)

    async def _to_node(self, happening: Happening, node: SimulatedNode) -> None:
        match happening.what:
            case "crash":
                node.crash()
            case "crash_at":
                node.crash_at(happening.detail)
            case "die_at":
                await node.die_at(happening.detail, _LONGEST_WAIT)
            case "pause":
                node.pause()
            case "cut_off":
                node.cut_off()
            case "jump":
                node.jump(timedelta(hours=self._chance.choice((-1, 1))))
            case "stop":
                await node.stop()
        await self._wait(happening)
        node.resume()
        node.heal()
        node.start()

    async def _wait(self, happening: Happening) -> None:
        await asyncio.sleep(happening.lasts.total_seconds())  # noqa: TID251 - virtual time

    async def _to_job(self, happening: Happening) -> None:
        name = happening.job
        jobs = self._declared
        match happening.what:
            case "change" if name in jobs:
                await self._declare({**jobs, name: redraw(jobs[name], self._chance)})
            case "switch" if name in jobs:
                await self._declare({**jobs, name: replace(jobs[name], enabled=not jobs[name].enabled)})
            case "remove" if name in jobs:
                await self._declare({key: job for key, job in jobs.items() if key != name})
            case "add" if name not in jobs:
                known = {job.name: job for job in self._scenario.jobs}
                await self._declare({**jobs, name: known[name]})
            case "run_now":
                await self._command(name, RunNow(f"request-{self._world.new_id()}"))
            case "pause_job":
                await self._pause(name, happening)
            case "cancel":
                for attempt in await self._store.runs(RunQuery(job=f"{SOURCE}/{name}", is_open=True)):
                    await self._command(name, Cancel(attempt.run_key))
                    break

    async def _pause(self, name: str, happening: Happening) -> None:
        if name not in self._paused and await self._command(name, Pause()):
            self._paused.add(name)
            await self._wait(happening)
            await self._resume(name)

    async def _resume(self, name: str) -> None:
        self._paused.discard(name)
        await self._command(name, Resume())

    async def _command(self, name: str, command: Command) -> bool:
        key, now, store_now = f"{SOURCE}/{name}", self._world.now, self._clock.now()
        try:
            await self._store.update(key, lambda record: plan_command(record, command, store_now))
            took = True
        except (JobNotFoundError, CommandRefusedError):
            took = False
        subject = getattr(command, "request", None) or getattr(command, "run_key", None)
        self._logbook.commanded(_OPERATIONS[type(command)], key, now, subject, took=took)
        self._hint()
        return took

    async def _declare(self, jobs: dict[str, Job]) -> None:
        """Reconcile the source to these jobs."""
        self._revision += 1
        revision, now = str(self._revision), self._world.now
        beside = self._company.jobs if self._company else ()
        marked = tuple(replace(job, revision=revision) for job in (*jobs.values(), *beside))
        await reconcile(self._store, SOURCE, Snapshot(revision, marked), self._clock.now())
        for name, job in self._declared.items():
            if name not in jobs:
                self._logbook.removed(job, now)
        for name, job in jobs.items():
            if self._declared.get(name) != job:
                self._logbook.declared(job, now)
        self._declared = jobs
        self._hint()

    def _hint(self) -> None:
        """Something changed: who is up hears of it."""
        for node in self._nodes:
            if node.engine:
                node.engine.wake()

    # -- the end -----------------------------------------------------------------------------------

    async def _calm_down(self) -> None:
        """All faults are over; what is owed has time to be served."""
        self._set_clock(timedelta(0))
        for node in self._nodes:
            node.resume()
            node.heal()
            node.start()
            node.jump(-node.host.offset)
        for name in sorted(self._paused):
            await self._resume(name)
        await asyncio.sleep(QUIET.total_seconds())  # noqa: TID251 - virtual time

    async def _collect(self) -> Simulated:
        views = await self._store.jobs(JobQuery(source=SOURCE, with_removed=True, limit=_EVERYTHING))
        every = await self._store.runs(RunQuery(limit=_EVERYTHING))
        beside = [attempt for attempt in every if self._company and self._company.knows(attempt.job)]
        own = [view for view in views if not (self._company and self._company.knows(view.key))]
        names = {view.key for view in own}  # and not the deliveries of channels
        attempts = [attempt for attempt in every if attempt.job in names]
        found = await cast("AlertStore", self._store).alerts(AlertQuery(limit=_EVERYTHING))
        outbox = [one for one in found if not one.channel.startswith(CHANNEL)]
        skips = [
            skip for view in own for skip in await self._store.skips(SkipQuery(view.key, limit=_EVERYTHING))
        ]
        for attempt in attempts:
            self._world.note(*attempt)
        history = self._logbook.close(
            final=self._world.now, bounds=BOUNDS, attempts=attempts, skips=skips, outbox=outbox,
            channels={node.name: node.channels for node in self._nodes},
        )  # fmt: skip
        for node in self._nodes:
            node.crash()
        passed_over, unfit_starts = self._logbook.passed_over, self._logbook.unfit_starts
        company = tuple(self._company.violations(beside)) if self._company else ()
        return Simulated(self._seed, history, self._world.digest, passed_over, unfit_starts, company)


def _weather(scenario: Scenario) -> Weather:
    return Weather(fails_before=scenario.fails_before, fails_after=scenario.fails_after, deadline=_DEADLINE)
