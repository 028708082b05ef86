"""A small world around the real planner and the memory store, with faults, that keeps the checker's logs.

It is no simulation of the engine: its nodes are a few lines that claim, run, report, renew and recover. It
is here so that the checker meets what the planner really decides.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any

from foliot.engine.plan_command import Backfill, Cancel, Command, Pause, Resume, RunNow, plan_command
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.errors import CommandRefusedError, JobNotFoundError, NodeBuriedError
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.decision import Event, Happening
from foliot.model.job import Job
from foliot.model.state import Node
from foliot.protocols import Changes, Finished, RunQuery, SkipQuery
from foliot.stores.memory import MemoryStore
from foliot_proof.history import (
    Bounds,
    Change,
    Fault,
    Finish,
    History,
    Host,
    Identity,
    Mark,
    Operation,
    Trouble,
    Verdict,
    Witness,
    define,
)

START = datetime(2026, 3, 28, 20, tzinfo=UTC)
BOUNDS = Bounds()
_EVERYTHING = 10**9


def second(n: float) -> timedelta:
    return timedelta(seconds=n)


def answer(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The memory store never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the memory store waited")


class StoreClock:
    """Shows the true time, plus an offset."""

    def __init__(self) -> None:
        self.time = START
        self.offset = timedelta(0)

    def now(self) -> datetime:
        return self.time + self.offset

    def monotonic(self) -> float:
        return (self.time - START).total_seconds()

    async def wait(self, duration: timedelta, until: asyncio.Event | None = None) -> None:
        raise NotImplementedError


@dataclass
class Task:
    job: Job
    attempt: Attempt
    node: str
    started_at: datetime
    ends_at: datetime
    outcome: Outcome


@dataclass
class Machine:
    name: str
    node: str = ""
    trouble: Trouble | None = None
    tasks: dict[tuple[str, int], Task] = field(default_factory=dict)
    endings: list[tuple[Task, Ending]] = field(default_factory=list)
    look_at: datetime = START
    offset: timedelta = timedelta(0)
    slots: int | None = None

    @property
    def is_reachable(self) -> bool:
        return self.trouble is None

    @property
    def room(self) -> int:
        return 100 if self.slots is None else self.slots - len(self.tasks)


class World:
    """Runs for a while; `history` is what it leaves behind."""

    def __init__(
        self, seed: int, jobs: list[Job], *, hours: float = 3, machines: int = 2, slots: int | None = None
    ) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - chance that can be repeated
        self.clock = StoreClock()
        self.store = MemoryStore(self.clock, lease=BOUNDS.lease)
        self.jobs = {job.key: job for job in jobs}
        self.machines = [Machine(f"host{n}", slots=slots) for n in range(machines)]
        self.ids = count(1)
        self.order = count()
        self.events: list[tuple[datetime, int, Callable[[], None]]] = []
        self.changes: list[Change] = []
        self.faults: list[Fault] = []
        self.witness: list[Witness] = []
        self.finishes: list[Finish] = []
        self.identities: list[Identity] = []
        self.quiet_at = START + timedelta(hours=hours)
        self.final = self.quiet_at + second(600)

    # -- time --------------------------------------------------------------------------------------

    def at(self, when: datetime, what: Callable[[], None]) -> None:
        heappush(self.events, (when, next(self.order), what))

    def run(self) -> History:
        for machine in self.machines:
            self.join(machine)
            self.every(BOUNDS.beat, partial(self.beat, machine))
            self.every(BOUNDS.recover, partial(self.tidy, machine))
            self.at(START, partial(self.look, machine))
        while self.events and self.events[0][0] <= self.final:
            when, _, what = heappop(self.events)
            self.clock.time = max(when, self.clock.time)
            what()
        self.clock.time = self.final
        return self.history()

    def every(self, step: timedelta, what: Callable[[], None]) -> None:
        def turn(at: datetime) -> None:
            what()
            self.at(at + step, lambda: turn(at + step))

        first = START + step * self.rng.random()
        self.at(first, lambda: turn(first))

    def history(self) -> History:
        attempts = answer(self.store.runs(RunQuery(limit=_EVERYTHING)))
        skips = [skip for job in self.jobs for skip in answer(self.store.skips(SkipQuery(job, limit=10_000)))]
        return History(
            final=self.final,
            bounds=BOUNDS,
            hosts=tuple(
                Host(machine.name, None if machine.slots is None else (("default", machine.slots),))
                for machine in self.machines
            ),
            changes=tuple(self.changes),
            attempts=attempts,
            skips=tuple(skips),
            witness=tuple(self.witness),
            faults=tuple(self.faults),
            identities=tuple(self.identities),
            finishes=tuple(self.finishes),
        )

    # -- nodes -------------------------------------------------------------------------------------

    def join(self, machine: Machine) -> None:
        machine.node = f"node{next(self.ids)}"
        self.identities.append(Identity(machine.node, machine.name))
        answer(self.store.join(Node(machine.node)))
        machine.offset = self.clock.offset

    def now(self, machine: Machine) -> datetime:
        """The store's time, as a machine knows it since its last heartbeat."""
        return self.clock.time + machine.offset

    def beat(self, machine: Machine) -> None:
        if not machine.is_reachable:
            return
        try:
            lease = answer(self.store.renew(machine.node))
        except NodeBuriedError:
            self.rise_again(machine)
            return
        machine.offset = self.clock.offset
        for key in lease.cancels:
            self.cancel(machine, key)

    def rise_again(self, machine: Machine) -> None:
        for task in list(machine.tasks.values()):
            self.say(Mark.END, task)
        machine.tasks.clear()
        machine.endings.clear()
        self.join(machine)
        self.wake(machine)

    def tidy(self, machine: Machine) -> None:
        if machine.is_reachable and answer(self.store.recover(1000, self.now(machine), plan_lost)):
            self.wake(machine)

    def wake(self, machine: Machine) -> None:
        self.at(self.clock.time + second(self.rng.random() / 10), lambda: self.look(machine))

    def look(self, machine: Machine) -> None:
        if not machine.is_reachable:
            return
        now = self.now(machine)
        try:
            self.report(machine)
            room = {"default": machine.room} if machine.room > 0 else {}
            claimed = answer(self.store.claim(machine.node, now, room, plan_due, f"claim{next(self.ids)}"))
        except NodeBuriedError:
            self.rise_again(machine)
            return
        self.heed(claimed.events)
        for job, attempt in claimed.runs:
            self.start(machine, job, attempt)
        wake = answer(self.store.wakes(["default"])).first if machine.room > 0 else None
        pause = BOUNDS.poll if wake is None else min(wake - now, BOUNDS.poll)
        at = machine.look_at = self.clock.time + max(second(0.01), pause)
        self.at(at, lambda: self.look(machine) if machine.look_at == at else None)

    def start(self, machine: Machine, job: Job, attempt: Attempt) -> None:
        now = self.clock.time
        length = second(self.rng.choice([0.5, 5, 20, 70, 200, 400]) * (0.5 + self.rng.random()))
        outcome = self.rng.choice([Outcome.SUCCEEDED] * 4 + [Outcome.FAILED])
        if job.policy.timeout is not None and length > job.policy.timeout:
            length, outcome = job.policy.timeout, Outcome.TIMED_OUT
        task = Task(job, attempt, machine.node, now, now + length, outcome)
        machine.tasks[attempt.key] = task
        self.say(Mark.START, task)
        self.at(task.ends_at, lambda: self.end(machine, task))

    def end(self, machine: Machine, task: Task) -> None:
        if machine.tasks.get(task.attempt.key) is not task:
            return
        if machine.trouble is Trouble.PAUSED:
            self.at(self.clock.time + second(1), lambda: self.end(machine, task))
            return
        del machine.tasks[task.attempt.key]
        self.say(Mark.END, task)
        attempt = task.attempt
        ending = Ending(
            attempt.job, attempt.run_key, attempt.number, attempt.token,
            task.outcome, task.started_at, self.now(machine),
        )  # fmt: skip
        machine.endings.append((task, ending))
        self.wake(machine)

    def cancel(self, machine: Machine, key: tuple[str, int]) -> None:
        task = machine.tasks.get(key)
        if task is not None and machine.trouble is None:
            task.outcome = Outcome.CANCELLED
            self.at(self.clock.time + second(self.rng.random()), lambda: self.end(machine, task))

    def report(self, machine: Machine) -> None:
        for task, ending in machine.endings:
            found: Finished = answer(self.store.finish(machine.node, [ending], self.now(machine), plan_ended))
            self.finishes.append(
                Finish(
                    ending.job, ending.run_key, ending.number, ending.token, task.node,
                    self.clock.time, not found.refused,
                )
            )  # fmt: skip
            self.heed(found.events)
        machine.endings.clear()

    def heed(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.what is Happening.CANCEL_ASKED and event.run_key is not None:
                for machine in self.machines:
                    self.cancel(machine, (event.run_key, event.number))

    def say(self, what: Mark, task: Task) -> None:
        attempt = task.attempt
        self.witness.append(
            Witness(
                what, attempt.job, attempt.run_key, attempt.number, attempt.token, task.node, self.clock.time
            )
        )

    # -- faults ------------------------------------------------------------------------------------

    def trouble(self, machine: Machine, kind: Trouble, begin: datetime, length: timedelta) -> None:
        self.at(begin, lambda: self._fall(machine, kind, length))

    def _fall(self, machine: Machine, kind: Trouble, length: timedelta) -> None:
        if machine.trouble is not None:
            return
        now = self.clock.time
        machine.trouble = kind
        if kind is Trouble.DOWN:
            machine.tasks.clear()
            machine.endings.clear()
        self.faults.append(Fault(kind, now, now + length, machine.name))
        self.at(now + length, lambda: self._rise(machine, kind))

    def _rise(self, machine: Machine, kind: Trouble) -> None:
        machine.trouble = None
        if kind is Trouble.DOWN:
            self.join(machine)
        else:
            self.beat(machine)
        self.wake(machine)

    def shift(self, offset: timedelta, length: timedelta) -> None:
        """The store's clock is wrong for a while."""
        self.clock.offset = offset
        now = self.clock.time
        self.faults.append(Fault(Trouble.CLOCK, now, now + length, offset=offset))

        def back() -> None:
            self.clock.offset = timedelta(0)

        self.at(now + length, back)

    # -- people and sources ------------------------------------------------------------------------

    def declare(self, *jobs: Job) -> None:
        self.reconcile(Changes(declared=jobs))
        for job in jobs:
            self.note(Operation.DECLARE, job.key, definition=define(job))
            self.jobs[job.key] = job

    def remove(self, key: str) -> None:
        self.reconcile(Changes(removed=(key.partition("/")[2],)))
        self.note(Operation.REMOVE, key)

    def reconcile(self, changes: Changes) -> None:
        now = self.clock.now()
        answer(
            self.store.reconcile(
                "s",
                answer(self.store.revision("s")),
                f"r{next(self.ids)}",
                changes,
                declared=lambda job, record: plan_declared(job, record, now),
                removed=lambda record: plan_removed(record, now),
            )
        )

    def command(self, key: str, command: Command) -> None:
        now = self.clock.now()
        verdict = Verdict.APPLIED
        try:
            decision = answer(self.store.update(key, lambda record: plan_command(record, command, now)))
            self.heed(decision.events)
        except (CommandRefusedError, JobNotFoundError):
            verdict = Verdict.REFUSED
        match command:
            case RunNow():
                self.note(Operation.RUN_NOW, key, verdict, subject=command.request)
            case Cancel():
                self.note(Operation.CANCEL, key, verdict, subject=command.run_key)
            case Backfill():
                self.note(Operation.BACKFILL, key, verdict, first=command.first, last=command.last)
            case Pause():
                self.note(Operation.PAUSE, key, verdict)
            case Resume():
                self.note(Operation.RESUME, key, verdict)

    def note(self, what: Operation, key: str, verdict: Verdict = Verdict.APPLIED, **facts: Any) -> None:
        self.changes.append(Change(what, key, self.clock.time, verdict=verdict, **facts))
