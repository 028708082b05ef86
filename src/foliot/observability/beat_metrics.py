"""Metrics of the beat door: those of its document, by schedule, beside those of the engine.

`CronScheduler(…, metrics=BeatMetrics())`. Each node reads the times of all runs from the store at each
heartbeat, so each node exports all of them: use `max by (schedule_id)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from foliot.model.histogram import Histogram
from foliot.model.query import JobView
from foliot.observability.metrics import Metrics
from foliot.observability.store_metrics import buckets

_ENQUEUE = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Tried(Protocol):
    """One try to enqueue the job of a schedule."""

    @property
    def queue(self) -> str:
        """The kind of queue."""

    @property
    def schedule(self) -> str:
        """The id of the schedule."""

    @property
    def took(self) -> timedelta | None:
        """How long the queue took; None: it was not asked."""


class BeatMetrics(Metrics):
    """What schedules count and measure."""

    def __init__(self, *, registry: CollectorRegistry | None = None) -> None:
        self._runs: Counter[tuple[str, str]] = Counter()  # by schedule and status
        self._durations: dict[str, Histogram] = {}
        self._last_run: dict[str, float] = {}
        self._next_run: dict[str, float] = {}
        self._lock_failures: Counter[str] = Counter()
        super().__init__(registry=registry)

    # -- told by the door --------------------------------------------------------------------------

    def on_job_enqueued(self, done: Tried, at: datetime, next_run: datetime | None) -> None:
        """The queue has taken a job."""
        with self._lock:
            self._runs[done.schedule, "success"] += 1
            self._observe(done)
            self._note_last(done.schedule, at)
            self._note_next(done.schedule, next_run)

    def on_job_failed(self, failed: Tried, reason: str) -> None:
        """The queue has not: `refused`, `timeout`; or it was not asked: `lock`, `state`."""
        with self._lock:
            self._enqueue_failures[reason] = self._enqueue_failures.get(reason, 0) + 1
            if reason == "lock":
                self._lock_failures[failed.schedule] += 1
            if failed.took is not None:
                self._runs[failed.schedule, "error"] += 1
                self._observe(failed)

    def on_schedules(self, views: Sequence[JobView]) -> None:
        """The schedules as the store has them. One that rests, or is off, has no next run."""
        with self._lock:
            for view in views:
                schedule = view.key.partition("/")[2]
                state = None if view.record is None else view.record.state
                self._note_last(schedule, view.last_success_at)
                is_resting = state is None or state.paused_at is not None
                self._note_next(schedule, None if is_resting or state is None else state.next_at)

    def _observe(self, tried: Tried) -> None:
        if tried.took is not None:
            for name, known in ((tried.schedule, self._durations), (tried.queue, self._enqueued)):
                known.setdefault(name, Histogram(_ENQUEUE)).observe(tried.took)

    def _note_last(self, schedule: str, at: datetime | None) -> None:
        if at is not None:
            self._last_run[schedule] = max(at.timestamp(), self._last_run.get(schedule, 0.0))

    def _note_next(self, schedule: str, at: datetime | None) -> None:
        if at is None:
            self._next_run.pop(schedule, None)
        else:
            self._next_run[schedule] = at.timestamp()

    # -- asked by a scrape -------------------------------------------------------------------------

    def collect(self) -> list[Metric]:
        """All families, as they are now."""
        with self._lock:
            own = list(self._of_schedules())
        return [*own, *super().collect()]

    def _of_schedules(self) -> Iterator[Metric]:
        runs = CounterMetricFamily(
            "scheduler_runs", "Jobs that the queue has taken, or has not.", labels=("schedule_id", "status")
        )
        for series, count in self._runs.items():
            runs.add_metric(series, count)
        yield runs
        yield _histograms(
            "scheduler_run_duration_seconds",
            "What it takes to enqueue a job.",
            "schedule_id",
            self._durations,
        )
        for name, meaning, known in (
            ("scheduler_last_run_timestamp", "When a job was last enqueued.", self._last_run),
            ("scheduler_next_run_timestamp", "When a schedule is due next.", self._next_run),
        ):
            gauge = GaugeMetricFamily(name, meaning, labels=("schedule_id",))
            for schedule, at in known.items():
                gauge.add_metric((schedule,), at)
            yield gauge
        locks = CounterMetricFamily(
            "scheduler_lock_failures", "Locks that could not be asked for.", labels=("schedule_id",)
        )
        for schedule, count in self._lock_failures.items():
            locks.add_metric((schedule,), count)
        yield locks


def _histograms(name: str, meaning: str, label: str, known: dict[str, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, meaning, labels=(label,))
    for value, histogram in known.items():
        family.add_metric((value,), buckets(histogram), histogram.total)
    return family
