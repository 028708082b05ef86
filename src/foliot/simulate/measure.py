"""What a simulation amounts to: how late runs started, how many waited, which came while one was open."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.engine.change.words import percentile
from foliot.engine.project import FutureRun, overlaps_in
from foliot.model.attempt import Outcome
from foliot.model.job import Job
from foliot.model.state import Record, Skip, SkipCode, State
from foliot.simulate.world import Simulated

_LATE = timedelta(seconds=1)
_TOP = 5
_NOTHING = timedelta(0)
BUCKETS = 60


class JobReport(NamedTuple):
    """How one job fares."""

    job: str
    runs: int = 0
    late: int = 0
    p95: timedelta = _NOTHING
    latest: timedelta = _NOTHING
    overlaps: int = 0
    skipped: int = 0
    timed_out: int = 0


class Peak(NamedTuple):
    """The most there was of something, and when that was first so."""

    most: int = 0
    at: datetime | None = None


class Bucket(NamedTuple):
    """A stretch of time: how many runs started in it, and how many waited at most."""

    at: datetime
    starts: int
    backlog: int


class Report(NamedTuple):
    """How all jobs fare together. `backlog`: runs that were due and had not started."""

    jobs: tuple[JobReport, ...]
    total: JobReport
    backlog: Peak
    running: Peak
    busiest: tuple[tuple[datetime, int], ...]
    buckets: tuple[Bucket, ...]
    bucket: timedelta


def measure(jobs: Sequence[Job], found: Simulated) -> Report:
    """The report of a simulation."""
    runs: dict[str, list[FutureRun]] = defaultdict(list)
    skips: dict[str, list[Skip]] = defaultdict(list)
    for run in found.runs:
        runs[run.job].append(run)
    for skip in found.skips:
        skips[skip.job].append(skip)
    reports = tuple(_job_report(job, runs[job.key], skips[job.key], found.start) for job in jobs)
    waited = [(run.due_at, run.started_at) for run in found.runs]
    waits = _steps([*waited, *((due_at, found.end) for due_at in found.waiting)])
    held = _steps((run.started_at, run.ended_at or found.end) for run in found.runs)
    minutes = Counter(run.started_at.replace(second=0, microsecond=0) for run in found.runs)
    busiest = sorted(minutes.items(), key=lambda pair: (-pair[1], pair[0]))[:_TOP]
    buckets, size = _buckets(found, waits)
    return Report(
        reports, _total(reports, found.runs), _peak(waits), _peak(held), tuple(busiest), buckets, size
    )


def _job_report(job: Job, runs: Sequence[FutureRun], skips: Sequence[Skip], start: datetime) -> JobReport:
    late = [run.lateness for run in runs]
    record = Record(job, State(0, start))
    return JobReport(
        job.name,
        len(runs),
        sum(one > _LATE for one in late),
        percentile(late) if late else _NOTHING,
        max(late, default=_NOTHING),
        overlaps_in(record, runs, skips),
        sum(job.schedule.count(skip.first, skip.last) for skip in skips if skip.code is not SkipCode.OTHER),
        sum(run.outcome is Outcome.TIMED_OUT for run in runs),
    )


def _total(reports: Iterable[JobReport], runs: Sequence[FutureRun]) -> JobReport:
    late = [run.lateness for run in runs]
    every = list(reports)
    return JobReport(
        "",
        len(runs),
        sum(report.late for report in every),
        percentile(late) if late else _NOTHING,
        max(late, default=_NOTHING),
        sum(report.overlaps for report in every),
        sum(report.skipped for report in every),
        sum(report.timed_out for report in every),
    )


def _steps(spans: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, int]]:
    """How many spans are open, at each instant at which that changes; what is empty counts for nothing."""
    changes: Counter[datetime] = Counter()
    for first, last in spans:
        if first < last:
            changes[first] += 1
            changes[last] -= 1
    level, steps = 0, []
    for at in sorted(changes):
        level += changes[at]
        steps.append((at, level))
    return steps


def _peak(steps: Sequence[tuple[datetime, int]]) -> Peak:
    most = max((level for _, level in steps), default=0)
    return Peak(most, next((at for at, level in steps if level == most), None) if most else None)


def _buckets(found: Simulated, waits: Sequence[tuple[datetime, int]]) -> tuple[tuple[Bucket, ...], timedelta]:
    size = (found.end - found.start) / BUCKETS
    starts = Counter(_place(run.started_at, found.start, size) for run in found.runs)
    backlog: dict[int, int] = {}
    level, done = 0, 0
    for at, changed in waits:
        place = _place(at, found.start, size)
        for between in range(done, place + 1):  # what waits goes on waiting
            backlog[between] = max(backlog.get(between, 0), level)
        level, done = changed, place
        backlog[place] = max(backlog.get(place, 0), level)
    made = (Bucket(found.start + size * n, starts[n], backlog.get(n, 0)) for n in range(BUCKETS))
    return tuple(made), size


def _place(at: datetime, start: datetime, size: timedelta) -> int:
    return min(BUCKETS - 1, max(0, (at - start) // size))
