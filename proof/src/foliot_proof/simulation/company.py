"""Jobs beside those of a scenario: chains, a group, a calendar and boots, with laws of their own.

    parent ──▶ on-success, on-failure, on-end     each run that is over for good has one run of each
    member-0 … member-3, group `db`               never more than two run at a time, by the store
    parent's calendar                             no run on a day that is left out
    boot                                          one run for each boot of a host

They live through all faults of the scenario; people leave them alone. `simulate(seed, has_company=True)`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from random import Random

from foliot.app.chains import ChainsPart
from foliot.app.part import Workplace
from foliot.doors.rollcron.boot import ask_after_boot
from foliot.errors import StoreError
from foliot.executors.task import TaskExecutor
from foliot.model.attempt import Attempt, Outcome, Trigger
from foliot.model.chain import Link, On, parent_of
from foliot.model.job import Action, Job
from foliot.model.policy import Keep, OnLost, Policy, Retry
from foliot.protocols import NodeStore, Result, Run
from foliot.schedules import Calendar, Cron, Never, OnDays
from foliot_proof.simulation.world import Host

KIND = "company"
GROUP, LIMIT = "db", 2
_SOURCE = "sim"
_POLL = timedelta(minutes=20)
_PAUSE = timedelta(minutes=1)
_OUT = Calendar("out", [date(2026, 3, day) for day in (3, 4, 15, 29)])
_LINKS = tuple(Link(f"on-{on}", on) for on in On)
_AGAIN = {Trigger.RETRY: Outcome.FAILED, Trigger.LOST: Outcome.LOST}


class Company:
    """What is seen of these jobs, by all nodes."""

    def __init__(self, seed: int, store: NodeStore) -> None:
        self._chance = Random(f"company {seed}")  # noqa: S311 - chance that can be repeated
        self._seed, self.store = seed, store
        self.jobs = self._draw()
        self.most_of_group = 0
        self.starts: Counter[tuple[str, int]] = Counter()
        self.boots: set[str] = set()

    def _draw(self) -> tuple[Job, ...]:
        policy = Policy(
            retry=Retry(max=self._chance.choice((0, 2)), delay=timedelta(minutes=10)),
            on_lost=self._chance.choice(list(OnLost)),
            keep=Keep(last=None, days=None),
        )
        hourly = OnDays(Cron("0 */2 * * *", timezone="Europe/Berlin"), exclude=_OUT)
        parent = replace(policy, then=_LINKS)
        children = [(link.job, Policy(after=Link("parent", link.on), keep=policy.keep)) for link in _LINKS]
        members = Cron("0 */8 * * *")
        return (
            _job("parent", hourly, parent),
            *(_job(name, Never(), policy) for name, policy in children),
            *(_job(f"member-{n}", members, policy, GROUP) for n in range(4)),
            _job("boot", Never(at_boot=True), Policy(keep=policy.keep)),
        )  # fmt: skip

    def knows(self, key: str) -> bool:
        """Whether a job is one of these."""
        return any(job.key == key for job in self.jobs)

    async def live(self, place: Workplace, request: str) -> None:
        """What a node does for them beside its engine."""
        while request not in self.boots:
            try:
                await ask_after_boot(place, self.jobs, request)
                self.boots.add(request)
            except StoreError:
                await place.clock.wait(_PAUSE)
        part = ChainsPart(_POLL)
        part.take(self.jobs)
        await part.begin(place)
        await part.live()

    # -- laws --------------------------------------------------------------------------------------

    def violations(self, attempts: Sequence[Attempt]) -> list[str]:
        """What is not as it must be."""
        found = [f"{key} was started {n} times" for key, n in self.starts.items() if n > 1]
        if self.most_of_group > LIMIT:
            found.append(f"{self.most_of_group} attempts of a group of {LIMIT} were running")
        runs: dict[str, list[Attempt]] = {}
        for attempt in attempts:
            runs.setdefault(attempt.run_key, []).append(attempt)
        return [*found, *_of_chains(runs), *_of_days(runs), *self._of_boots(runs)]

    def _of_boots(self, runs: dict[str, list[Attempt]]) -> list[str]:
        asked = {f"{_SOURCE}/boot!{request}" for request in self.boots}
        had = {key for key in runs if key.startswith(f"{_SOURCE}/boot")}
        return [f"boot: {key}" for key in sorted(asked ^ had)]


def _job(name: str, schedule: OnDays | Cron | Never, policy: Policy, group: str | None = None) -> Job:
    return Job(
        source=_SOURCE, name=name, schedule=schedule, action=Action(kind=KIND), policy=policy, group=group
    )


def _of_chains(runs: dict[str, list[Attempt]]) -> list[str]:
    """Exactly one run of each follower for each run of the parent that is over for good."""
    found, owed = [], Counter[tuple[str, str]]()
    for key, attempts in runs.items():
        outcome = _over(attempts) if key.startswith(f"{_SOURCE}/parent") else None
        owed.update((f"{_SOURCE}/{link.job}", key) for link in _LINKS if outcome and link.counts(outcome))
    had = Counter(
        (attempts[0].job, str(parent_of(attempts[0])))
        for attempts in runs.values()
        if attempts[0].job.startswith(f"{_SOURCE}/on-")
    )
    found += [
        f"{child} has {had[child, run]} runs after {run}" for child, run in owed if had[child, run] != 1
    ]
    return found + [f"{child} follows {run}, which is not over" for child, run in had if not owed[child, run]]


def _over(attempts: Sequence[Attempt]) -> Outcome | None:
    """How a run ended for good; None: it has not, or it never started."""
    last = max(attempts, key=lambda attempt: attempt.number)
    if any(attempt.is_open for attempt in attempts):
        return None
    return last.outcome if last.node is not None else _AGAIN.get(last.trigger)


def _of_days(runs: dict[str, list[Attempt]]) -> list[str]:
    zone = Cron("0 0 * * *", timezone="Europe/Berlin")
    found = []
    for key, attempts in runs.items():
        at = zone.previous(attempts[0].scheduled_for)
        if key.startswith(f"{_SOURCE}/parent@") and at is not None and at.date() in _OUT:
            found.append(f"{key} ran on a day that is left out")
    return found


class CompanyExecutor(TaskExecutor):
    """Takes a while, and fails now and then: what becomes of an attempt depends on its name alone."""

    def __init__(self, company: Company, host: Host) -> None:
        super().__init__()
        self._company, self._host = company, host

    async def execute(self, run: Run) -> Result:
        await self._host.gate()
        self._company.starts[run.attempt.key] += 1
        if run.job.group is not None:
            running = await self._company.store.running(GROUP)
            self._company.most_of_group = max(self._company.most_of_group, running)
        chance = Random(f"{run.attempt.key}")  # noqa: S311 - chance that can be repeated
        await asyncio.sleep(chance.choice((5, 20, 60)) if run.job.group else chance.choice((5, 600, 2400)))  # noqa: TID251 - virtual time
        await self._host.gate()
        is_bad = chance.random() < 0.2  # noqa: PLR2004 - every fifth
        return Result(Outcome.FAILED, "as it was told") if is_bad else Result(Outcome.SUCCEEDED)
