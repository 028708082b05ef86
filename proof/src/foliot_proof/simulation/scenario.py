"""What jobs there are and what happens to them and to the nodes, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from foliot.model import presets
from foliot.model.job import Action, Job
from foliot.model.policy import (
    Keep,
    Misfire,
    MisfireMode,
    OnLost,
    Overlap,
    OverlapMode,
    Policy,
    Retry,
    parallel,
)
from foliot.schedules import Cron, Every, Once, Schedule
from foliot_proof.simulation.watched import draw_deaths, draw_splayed, draw_watched
from foliot_proof.simulation.world import START

SOURCE = "sim"
_RULES = (
    ("0 * * * *", "UTC"),
    ("30 2 * * *", "Europe/Berlin"),
    ("*/20 8-11 * * *", "America/New_York"),
    ("15 */6 * * *", "UTC"),
    ("0 9 * * MON-FRI", "Europe/Berlin"),
    ("45 1,2,3 * * *", "Europe/Berlin"),
    ("0 0 1,15 * *", "UTC"),
    ("5 12 * * 1,3", "Asia/Kathmandu"),
    ("*/30 0-5 * * *", "Australia/Lord_Howe"),
)
_OVERLAPS = (
    Overlap(),
    Overlap(mode=OverlapMode.WAIT),
    Overlap(mode=OverlapMode.REPLACE),
    parallel(),
    parallel(2),
)
_SETTINGS_OF_THE_CLOCK = (-30, -5, -1, 1, 5, 30)  # hours
_PRESETS = (presets.CODE, presets.ROLLCRON, presets.DECLARATIVE, presets.BEAT, presets.API)


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that the scenario lets happen: to a node (by number), or to a job (by name)."""

    at: datetime
    what: str
    node: int = 0
    job: str = ""
    lasts: timedelta = timedelta(0)
    detail: str = ""
    by: timedelta = timedelta(0)  # by so much the store's clock is set


@dataclass(frozen=True, slots=True)
class Scenario:
    """All that a seed decides beforehand."""

    jobs: tuple[Job, ...]
    happenings: tuple[Happening, ...]
    fails_before: float
    fails_after: float

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that its jobs tell."""
        notifies = (job.policy.notify for job in self.jobs)
        return tuple(sorted({name for notify in notifies if notify for name in notify.to}))


def draw_scenario(seed: int, *, days: int, nodes: int, lease: timedelta) -> Scenario:
    """The scenario of a seed."""
    chance = Random(f"scenario {seed}")  # noqa: S311 - chance that can be repeated
    jobs = tuple(_draw_job(chance, number) for number in range(chance.randint(3, 6)))
    end = START + timedelta(days=days)
    drawn = [*_draw_faults(chance, end, nodes, lease), *_draw_changes(chance, end, jobs)]
    drawn += _draw_clock(Random(f"clock {seed}"), end, lease)  # noqa: S311 - chance that can be repeated
    jobs = draw_splayed(draw_watched(jobs, seed), seed)
    if any(job.policy.is_watched for job in jobs):
        for at, node, where in draw_deaths(seed, START, end, nodes):
            drawn.append(Happening(at, "die_at", node=node, lasts=lease * 0.3, detail=where))
    happenings = sorted(drawn, key=lambda happening: happening.at)
    is_stormy = chance.random() < 0.5  # noqa: PLR2004 - every other seed
    return Scenario(
        jobs,
        tuple(happenings),
        fails_before=chance.uniform(0, 0.05) if is_stormy else 0.0,
        fails_after=chance.uniform(0, 0.05) if is_stormy else 0.0,
    )


def draw_schedule(chance: Random) -> Schedule:
    """A rule that fires a few times a day, or a beat, or once."""
    kind = chance.random()
    if kind < 0.1:  # noqa: PLR2004 - one in ten
        return Once(START + timedelta(hours=chance.randint(1, 400)))
    if kind < 0.25:  # noqa: PLR2004
        return Every(timedelta(minutes=chance.choice((45, 120, 420))))
    expression, zone = chance.choice(_RULES)
    return Cron(expression, timezone=zone)


def _draw_job(chance: Random, number: int) -> Job:
    policy = chance.choice(_PRESETS)
    if chance.random() < 0.7:  # noqa: PLR2004 - most jobs mix their own
        policy = _draw_policy(chance)
    takes = chance.choice((1, 5, 60, 900, 5000))
    return Job(
        source=SOURCE,
        name=f"job-{number}",
        schedule=draw_schedule(chance),
        action=Action(
            kind="simulated",
            data={"takes": takes, "fails": chance.choice((0, 0.1, 0.5)), "hangs": chance.choice((0, 0.02))},
        ),
        policy=replace(policy, keep=Keep(last=None, days=None)),  # the checker wants all of it
    )


def _draw_policy(chance: Random) -> Policy:
    mode = chance.choice(list(MisfireMode))
    return Policy(
        first_seen=chance.choice(_PRESETS).first_seen,
        misfire=Misfire(mode=mode, limit=chance.choice((1, 3)), grace=timedelta(minutes=5)),
        before_first_run=chance.random() < 0.5,  # noqa: PLR2004
        on_change=chance.choice(_PRESETS).on_change,
        overlap=chance.choice(_OVERLAPS),
        retry=Retry(
            max=chance.choice((0, 0, 2, None)),
            delay=timedelta(seconds=chance.choice((0, 30, 1800))),
            backoff=chance.choice((1.0, 2.0)),
            jitter=chance.choice((0.0, 0.5)),
            is_preempted=chance.random() < 0.5,  # noqa: PLR2004
        ),
        on_lost=chance.choice(list(OnLost)),
        timeout=chance.choice((None, None, timedelta(hours=2))),
    )


def _draw_faults(chance: Random, end: datetime, nodes: int, lease: timedelta) -> list[Happening]:
    """Faults in pairs of rough and quiet times; most are over before the lease is, some are not."""
    found = []
    at = START + timedelta(hours=chance.uniform(0, 24))
    while at < end:
        what = chance.choice(("crash", "crash_at", "pause", "cut_off", "jump", "stop", "blackout"))
        found.append(
            Happening(
                at,
                what,
                node=chance.randrange(nodes),
                lasts=lease * chance.choice((0.01, 0.3, 0.9, 1.1, 3.0)),
                detail=chance.choice(("claimed", "before_start", "before_finish", "finished")),
            )
        )
        at += timedelta(hours=chance.expovariate(1 / 16))
    return found


def _draw_clock(chance: Random, end: datetime, lease: timedelta) -> list[Happening]:
    """In every fourth seed the store's clock is set, and set right again when everybody has noticed.

    What happens then is hard to judge, so there is time between, and the other seeds are without.
    """
    found: list[Happening] = []
    if chance.random() > 0.25:  # noqa: PLR2004 - as said
        return found
    at = START + timedelta(hours=chance.uniform(24, 96))
    while True:
        by = timedelta(hours=chance.choice(_SETTINGS_OF_THE_CLOCK))
        lasts = lease * chance.choice((1.1, 3.0))
        if at + lasts + 2 * abs(by) + timedelta(days=1) > end:
            return found
        found.append(Happening(at, "set_clock", lasts=lasts, by=by))
        at += lasts + 2 * abs(by) + timedelta(hours=chance.uniform(48, 96))


def _draw_changes(chance: Random, end: datetime, jobs: tuple[Job, ...]) -> list[Happening]:
    """What people do: change definitions, and give commands."""
    found = []
    at = START + timedelta(hours=chance.uniform(0, 48))
    while at < end:
        what = chance.choice(("change", "switch", "remove", "add", "run_now", "pause_job", "cancel"))
        job = chance.choice(jobs).name
        found.append(Happening(at, what, job=job, lasts=timedelta(hours=chance.uniform(0.1, 30))))
        at += timedelta(hours=chance.expovariate(1 / 40))
    return found


def redraw(job: Job, chance: Random) -> Job:
    """The same job with another schedule, or another length of work."""
    if chance.random() < 0.5:  # noqa: PLR2004
        return replace(job, schedule=draw_schedule(chance))
    return replace(job, action=Action(kind=job.action.kind, data={**job.action.data, "takes": 2}))
