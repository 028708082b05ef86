"""Goal P2: the next times of a million jobs that share a thousand rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, cycle, product
from random import Random

from benchmarks.cron.measure import Effort, Timing, Work, quiet_collector, stopwatch, take_turns
from benchmarks.cron.sample import SEED
from foliot.schedules import Cron
from foliot.schedules.herd import next_after_all

GOAL_NS = 100
RULES = 1_000
_ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Sydney")
_DAYS = ("* * *", "* * 1-5", "* * 6", "1 * *", "1,15 * *", "* 1-6 *", "13 * 5")
_START = datetime(2026, 3, 2, 8, 59, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Herd:
    """What was seen: seconds per job, and what came before."""

    jobs: int
    rules: int
    shared: Timing
    equal: Timing
    first_call: float
    build_equal: float

    @property
    def meets_goal(self) -> bool:
        """Whether jobs that share rule objects are planned fast enough."""
        return self.shared.median * 1e9 <= GOAL_NS


def measure_herd(effort: Effort) -> Herd:
    """Jobs that refer to the same rule objects, and jobs that each have an equal one of their own."""
    random = Random(SEED)  # noqa: S311 - a sample, not a secret
    rules = _distinct_rules(random)
    shared = random.choices(rules, k=effort.jobs)
    equal: list[Cron] = []
    with quiet_collector():
        build = stopwatch(
            lambda: equal.extend(Cron(rule.expression, timezone=rule.timezone) for rule in shared)
        )
        first = stopwatch(lambda: next_after_all(shared, _START))
    timings = take_turns({"shared": _work(shared), "equal": _work(equal)}, effort.rounds)
    return Herd(
        jobs=effort.jobs,
        rules=len(rules),
        shared=timings["shared"],
        equal=timings["equal"],
        first_call=first,
        build_equal=build,
    )


def _distinct_rules(random: Random) -> list[Cron]:
    expressions = [f"{minute} {hour} {days}" for minute, hour, days in product(range(60), range(24), _DAYS)]
    return [
        Cron(expression, timezone=zone)
        for expression, zone in zip(random.sample(expressions, RULES), cycle(_ZONES), strict=False)
    ]


def _work(jobs: list[Cron]) -> Work:
    # The clock moves on between two turns of an engine, so no turn may live off the one before.
    minutes = count(1)
    return Work(lambda: next_after_all(jobs, _START + timedelta(minutes=next(minutes))), len(jobs))
