"""A law: a simulation without faults equals the projection that plans use.

The simulation is the real engine on a store in memory; the projection is a loop of the planner's decisions
about one record. With enough slots, both must start the same attempts at the same instants.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from engine.plan_lives import START, jobs
from foliot.engine.plan_definition import plan_declared
from foliot.engine.project import Durations, FutureRun, project
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.policy import Overlap, OverlapMode
from foliot.model.state import Record, Skip
from foliot.schedules import Every
from foliot.simulate import simulate

pytestmark = pytest.mark.req("OWN-18")
SECOND = timedelta(seconds=1)
LENGTH = timedelta(minutes=40)
# What ends by its deadline, or comes to an end, never does so at the very instant of an occurrence: which of
# the two is then first is decided by nothing but the order of two timers.
TIMEOUT = timedelta(seconds=53, milliseconds=370)
ODD = timedelta(milliseconds=110)
LENGTHS = st.sampled_from([timedelta(0), *(n * SECOND + ODD for n in (1, 7, 20, 45, 61, 90, 150, 400, 1800))])
TIMES = st.lists(LENGTHS, min_size=1, max_size=6)


def plain(job: Job, name: str) -> Job:
    """The job as it is simulated: it tells nobody, and is not replaced."""
    overlap = job.policy.overlap if job.policy.overlap.mode is not OverlapMode.REPLACE else Overlap()
    timeout = None if job.policy.timeout is None else TIMEOUT
    policy = replace(job.policy, overlap=overlap, timeout=timeout, notify=None, expect=None)
    return replace(job, name=name, policy=policy)


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[Job, ...], Durations]:
    names = ("a", "b", "c")[: draw(st.integers(1, 3))]
    drawn = tuple(plain(draw(jobs()), name) for name in names)
    return drawn, Durations({job.key: draw(TIMES) for job in drawn}, seed=draw(st.integers(0, 9)))


@settings(max_examples=25, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_a_simulation_equals_the_projection(case: tuple[tuple[Job, ...], Durations]) -> None:
    declared, took = case
    found = simulate(declared, START, LENGTH, took, slots={"default": 100_000})
    for job in declared:
        record = Record(job, plan_declared(job, None, START).state)
        foretold = project(record, took, START, found.end, most=100_000)
        note(f"{job.name}: {job.schedule} {job.policy}")
        assert not foretold.is_truncated
        assert _runs(foretold.runs, found.end) == _runs(
            [run for run in found.runs if run.job == job.key], found.end
        )
        assert _skips(foretold.skips) == _skips([skip for skip in found.skips if skip.job == job.key])


def _runs(runs: tuple[FutureRun, ...] | list[FutureRun], end: datetime) -> list[tuple[object, ...]]:
    """Attempts as far as both must agree: what starts or ends in the last moment may be told or not."""
    return sorted(
        (
            run.run, run.number, run.trigger.value, run.due_at, run.started_at,
            run.ended_at if run.ended_at is not None and run.ended_at < end else None,
            run.outcome.value if run.ended_at is not None and run.ended_at < end and run.outcome else "",
        )
        for run in runs
        if run.started_at < end
    )  # fmt: skip


def _skips(skips: tuple[Skip, ...] | list[Skip]) -> list[tuple[datetime, datetime, str]]:
    return sorted((skip.first, skip.last, skip.reason) for skip in skips)


def test_a_run_that_is_replaced_ends_soon() -> None:
    """The engine hears of a cancellation with its next heartbeat; the projection ends the run at once."""
    job = Job(source="tests", name="a", schedule=Every("60s"), action=Action(kind="noop"))
    job = replace(job, policy=replace(job.policy, overlap=Overlap(mode=OverlapMode.REPLACE)))
    took = Durations({job.key: [90 * SECOND]})
    record = Record(job, plan_declared(job, None, START).state)
    foretold = project(record, took, START, START + timedelta(minutes=10))
    found = simulate([job], START, timedelta(minutes=10), took, slots={"default": 9})
    assert {run.outcome for run in foretold.runs if run.outcome} == {Outcome.CANCELLED}
    assert [run.run for run in found.runs][:3] == [run.run for run in foretold.runs][:3]
