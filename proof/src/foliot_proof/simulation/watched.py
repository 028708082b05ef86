"""Which jobs are watched and by which channels, which start after their time, and what befalls channels.

All of it is drawn apart from the rest of a scenario, so that seeds without it are as they were.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from foliot.model.alert import AlertKind
from foliot.model.job import Job
from foliot.model.policy import USUAL_ALERTS, Expect, Notify

_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)
_KINDS = (
    tuple(kind for kind in USUAL_ALERTS if kind is not AlertKind.FLAPPING),
    (AlertKind.FAILURE, AlertKind.RECOVERY),
    USUAL_ALERTS,
    tuple(AlertKind),
)
_CHANNELS = (("ops",), ("ops", "admins"))
_SPLAYS = (None, 10 * _MINUTE, 50 * _MINUTE)


class Mood(NamedTuple):
    """How often a channel fails, hangs, takes a message and loses its answer, refuses, or asks to wait."""

    fails: float = 0.0
    hangs: float = 0.0
    loses_answer: float = 0.0
    refuses: float = 0.0
    asks_to_wait: float = 0.0


def draw_watched(jobs: tuple[Job, ...], seed: int) -> tuple[Job, ...]:
    """In every third seed most jobs tell channels of themselves."""
    chance = Random(f"alerts {seed}")  # noqa: S311 - chance that can be repeated
    if chance.random() < 0.65:  # noqa: PLR2004 - about two of three seeds
        return jobs
    return tuple(_watch(job, chance) if chance.random() < 0.8 else job for job in jobs)  # noqa: PLR2004 - most


def _watch(job: Job, chance: Random) -> Job:
    notify = Notify(
        chance.choice(_CHANNELS),
        on=chance.choice(_KINDS),
        after=chance.choice((1, 1, 2)),
        remind=chance.choice((None, 6 * _HOUR, 24 * _HOUR)),
    )
    expect = Expect(
        start_within=chance.choice((None, 10 * _MINUTE, _HOUR)),
        finish_within=chance.choice((None, 30 * _MINUTE, 2 * _HOUR)),
        success_every=chance.choice((None, 26 * _HOUR, 72 * _HOUR)),
    )
    return replace(job, policy=replace(job.policy, notify=notify, expect=expect))


def draw_splayed(jobs: tuple[Job, ...], seed: int) -> tuple[Job, ...]:
    """In every third seed some jobs start a while after their occurrences."""
    # By this word the seeds at which the search for planted bugs begins have none: they show them early.
    chance = Random(f"odd {seed}")  # noqa: S311 - chance that can be repeated
    if chance.random() > 1 / 3:
        return jobs
    return tuple(replace(job, policy=replace(job.policy, splay=chance.choice(_SPLAYS))) for job in jobs)


def draw_mood(name: str, seed: int) -> Mood:
    """How a channel fares in a seed: some of them fare well."""
    chance = Random(f"channel {name} {seed}")  # noqa: S311 - chance that can be repeated
    return Mood(*(chance.choice((0, 0.05, most)) for most in (0.4, 0.1, 0.3, 0.1, 0.1)))


def draw_deaths(seed: int, begin: datetime, end: datetime, nodes: int) -> list[tuple[datetime, int, str]]:
    """When which node is to die as soon as it delivers: before a message is out, or after."""
    chance = Random(f"deaths {seed}")  # noqa: S311 - chance that can be repeated
    found = []
    at = begin + chance.uniform(0, 48) * _HOUR
    while at < end:
        found.append((at, chance.randrange(nodes), chance.choice(("telling", "told"))))
        at += chance.expovariate(1 / 48) * _HOUR
    return found
