"""Metrics for Prometheus: `Foliot(…, metrics=Metrics())`; scrape its registry.

Events are counted on the engine's thread (see `tally`). The client's objects are made at each scrape, on the
thread of the scrape. By default there is no label for the job, because each job would have about sixty
series.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from foliot.errors import StoreError
from foliot.model.decision import Event
from foliot.model.histogram import Histogram
from foliot.model.query import JobView
from foliot.model.view import AlertHealth, EnqueueHealth, NodeHealth, NodeView, SourceHealth, StoreHealth
from foliot.observability.log import WRONG_CLOCK
from foliot.observability.store_metrics import buckets, store_families
from foliot.observability.tally import MOST_JOBS, TURN, Tallies, Tally


class Metrics(Collector):
    """What an engine counts and measures.

    `by_job`: True adds the label `job` for all jobs; a collection of keys (`"app/refresh"`) for these.
    `registry`: where to register; by default a new registry.
    """

    def __init__(
        self,
        *,
        by_job: bool | Collection[str] = False,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self._tallies = Tallies(by_job)
        self._lock = threading.Lock()
        self._turns = {"claim": Histogram(TURN), "report": Histogram(TURN)}
        self._troubles: dict[str, int] = {}
        self._jumps = {"forward": 0, "backward": 0}
        self._leases_lost = 0
        self._burials = 0
        self._held = 0
        self._health: NodeHealth | None = None
        self._sources: dict[str, SourceHealth] = {}
        self._dropped: dict[str, int] = {}
        self._alerts: dict[tuple[str, str, str], int] = {}  # by kind, channel and outcome
        self._alerts_waiting: dict[str, int] = {}
        self._enqueued: dict[str, Histogram] = {}  # by queue
        self._enqueue_failures: dict[str, int] = {}
        self._lengths: dict[str, int] = {}
        self._store: StoreHealth | None = None
        self.registry = registry or CollectorRegistry()
        self.registry.register(self)

    def text(self) -> bytes:
        """What a scrape gets, in Prometheus' text format."""
        return generate_latest(self.registry)

    # -- told by the engine ------------------------------------------------------------------------

    def on_events(self, events: Sequence[Event]) -> None:
        with self._lock:
            self._tallies.count(events)

    def on_trouble(self, error: StoreError) -> None:
        with self._lock:
            name = type(error).__name__
            self._troubles[name] = self._troubles.get(name, 0) + 1

    def on_turn(self, what: str, took: timedelta, held: int) -> None:
        with self._lock:
            self._turns[what].observe(took)
            self._held = held

    def on_health(self, health: NodeHealth) -> None:
        with self._lock:
            self._health = health
            if abs(health.jump) >= WRONG_CLOCK:
                self._jumps["forward" if health.jump > timedelta(0) else "backward"] += 1

    def on_lease_lost(self, node: str) -> None:  # noqa: ARG002 - a node's id would be a new series each time
        with self._lock:
            self._leases_lost += 1

    def on_burial(self, node: str, dead: NodeView) -> None:  # noqa: ARG002 - as above
        with self._lock:
            self._burials += 1

    def on_jobs(self, views: Sequence[JobView]) -> None:
        """The last successes of jobs, when the engine starts."""
        with self._lock:
            for view in views:
                self._tallies.note_success(view.key, view.last_success_at)

    def on_source(self, health: SourceHealth) -> None:
        """A source was checked."""
        with self._lock:
            self._sources[health.source] = health
            self._dropped[health.source] = self._dropped.get(health.source, 0) + health.dropped

    def on_alerts(self, health: AlertHealth) -> None:
        """Alerts were sent, refused or given up; or those that wait were counted."""
        with self._lock:
            for one in health.settled:
                series = one.alert.kind.value, one.channel, one.state.value
                self._alerts[series] = self._alerts.get(series, 0) + 1
            if health.waiting is not None:
                self._alerts_waiting = dict(health.waiting)

    def on_enqueued(self, health: EnqueueHealth) -> None:
        """Tasks were put into queues of others, or could not be; or those that wait there were counted."""
        with self._lock:
            for queue, took in health.enqueued:
                self._enqueued.setdefault(queue, Histogram(TURN)).observe(took)
            for reason in health.failures:
                self._enqueue_failures[reason] = self._enqueue_failures.get(reason, 0) + 1
            if health.lengths is not None:
                self._lengths = dict(health.lengths)

    def on_store(self, health: StoreHealth) -> None:
        """The store has measured its own health."""
        with self._lock:
            self._store = health

    # -- asked by a scrape -------------------------------------------------------------------------

    def describe(self) -> Iterable[Metric]:
        """The families, so that a name conflict is found at registration."""
        return self.collect()

    def collect(self) -> list[Metric]:
        """All families, as they are now."""
        with self._lock:
            return [
                *self._of_attempts(),
                *self._of_jobs(),
                *self._of_node(),
                *self._of_time(),
                *self._of_sources(),
                *self._of_alerts(),
                *self._of_queues(),
                *store_families(self._store),
            ]

    def _of_attempts(self) -> Iterator[Metric]:
        yield self._counter(
            "foliot_attempts_started", "Attempts that this node has claimed.", "trigger", lambda t: t.started
        )
        yield self._counter(
            "foliot_attempts_ended",
            "Attempts that have ended, as this node saw.",
            "outcome",
            lambda t: t.ended,
        )
        yield self._counter(
            "foliot_skips", "Ranges of occurrences that will not run.", "reason", lambda t: t.skipped
        )
        yield self._histogram(
            "foliot_start_lateness_seconds",
            "From the time an attempt was to start until it was claimed.",
            "trigger",
            lambda t: t.lateness,
        )
        yield self._histogram(
            "foliot_start_delay_seconds", "From the claim of an attempt until its start.", None,
            lambda t: {"": t.delay},
        )  # fmt: skip
        yield self._histogram(
            "foliot_attempt_duration_seconds", "From the start of an attempt until its end.", "outcome",
            lambda t: t.durations,
        )  # fmt: skip

    def _of_jobs(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "foliot_job_last_success_timestamp_seconds",
            f"When a job last succeeded, as this node knows; {MOST_JOBS:,} jobs at most.",
            labels=("job",),
        )
        for job, at in self._tallies.last_success.items():
            family.add_metric((job,), at.timestamp())
        yield family

    def _of_node(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("foliot_open_attempts", "Attempts that this node holds.", self._held)
        turns = HistogramMetricFamily(
            "foliot_turn_duration_seconds",
            "What it takes to claim and start what is due, or to store what has ended.",
            labels=("turn",),
        )
        for what, histogram in self._turns.items():
            turns.add_metric((what,), buckets(histogram), histogram.total)
        yield turns
        yield CounterMetricFamily(
            "foliot_leases_lost", "How often this node was declared dead, and was not.", self._leases_lost
        )
        yield CounterMetricFamily(
            "foliot_nodes_declared_dead", "Nodes that this node has declared dead.", self._burials
        )
        troubles = CounterMetricFamily(
            "foliot_store_troubles", "Calls that the store did not answer.", labels=("error",)
        )
        for name, count in self._troubles.items():
            troubles.add_metric((name,), count)
        yield troubles

    def _of_time(self) -> Iterator[Metric]:
        jumps = CounterMetricFamily(
            "foliot_clock_jumps", "Jumps of the store's time by two seconds or more.", labels=("direction",)
        )
        for direction, count in self._jumps.items():
            jumps.add_metric((direction,), count)
        yield jumps
        gauges = {
            "foliot_clock_skew_seconds": ("How far this host's clock is ahead of the store's.", _skew),
            "foliot_backlog_age_seconds": (
                "How long the job that waits longest is due, unclaimed.",
                _overdue,
            ),
            "foliot_backlog_jobs": ("How many jobs are due, unclaimed.", _backlog),
            "foliot_last_heartbeat_timestamp_seconds": ("The last heartbeat, by the store's time.", _at),
        }
        for name, (meaning, value) in gauges.items():
            gauge = GaugeMetricFamily(name, meaning, labels=())
            if self._health is not None:
                gauge.add_metric((), value(self._health))
            yield gauge

    def _of_sources(self) -> Iterator[Metric]:
        jobs = GaugeMetricFamily("foliot_source_jobs", "Jobs that a source declares.", labels=("source",))
        failures = GaugeMetricFamily(
            "foliot_source_failures", "Tries in a row to follow a source that failed.", labels=("source",)
        )
        pulled = GaugeMetricFamily(
            "foliot_source_pulled_timestamp_seconds", "When a source last answered.", labels=("source",)
        )
        dropped = CounterMetricFamily(
            "foliot_source_jobs_dropped", "Jobs that vanished with most others at once.", labels=("source",)
        )
        for source, health in self._sources.items():
            jobs.add_metric((source,), health.jobs)
            failures.add_metric((source,), health.failures)
            dropped.add_metric((source,), self._dropped[source])
            if health.pulled_at is not None:
                pulled.add_metric((source,), health.pulled_at.timestamp())
        yield from (jobs, failures, pulled, dropped)

    def _of_alerts(self) -> Iterator[Metric]:
        settled = CounterMetricFamily(
            "foliot_alerts", "Alerts that this node has sent, or that will not be sent.",
            labels=("kind", "channel", "outcome"),
        )  # fmt: skip
        for series, times in self._alerts.items():
            settled.add_metric(series, times)
        waiting = GaugeMetricFamily(
            "foliot_alerts_waiting", "Alerts that wait for a channel of this node; at most 500 are counted.",
            labels=("channel",),
        )  # fmt: skip
        for channel, number in self._alerts_waiting.items():
            waiting.add_metric((channel,), number)
        yield from (settled, waiting)

    def _of_queues(self) -> Iterator[Metric]:
        seconds = HistogramMetricFamily(
            "foliot_enqueue_seconds", "From the start of a run until its task was in a queue of Celery.",
            labels=("queue",),
        )  # fmt: skip
        for queue, histogram in self._enqueued.items():
            seconds.add_metric((queue,), buckets(histogram), histogram.total)
        failures = CounterMetricFamily(
            "foliot_enqueue_failures", "Tasks that were not put into a queue, or are not known to be there.",
            labels=("reason",),
        )  # fmt: skip
        for reason, times in self._enqueue_failures.items():
            failures.add_metric((reason,), times)
        lengths = GaugeMetricFamily(
            "foliot_celery_queue_length", "Tasks that wait in a queue that is watched.", labels=("queue",)
        )
        for queue, length in self._lengths.items():
            lengths.add_metric((queue,), length)
        yield from (seconds, failures, lengths)

    def _series(self, *values: str) -> tuple[str, ...]:
        """Labels or values, without the job's if jobs have no label."""
        return values if self._tallies.is_by_job else values[1:]

    def _counter(
        self, name: str, meaning: str, label: str, of: Callable[[Tally], Mapping[str, int]]
    ) -> Metric:
        family = CounterMetricFamily(name, meaning, labels=self._series("job", label))
        for job, tally in self._tallies.of_job.items():
            for value, count in of(tally).items():
                family.add_metric(self._series(job, str(value)), count)
        return family

    def _histogram(
        self, name: str, meaning: str, label: str | None, of: Callable[[Tally], Mapping[str, Histogram]]
    ) -> Metric:
        labels = ("job",) if label is None else ("job", label)
        family = HistogramMetricFamily(name, meaning, labels=self._series(*labels))
        for job, tally in self._tallies.of_job.items():
            for value, histogram in sorted(of(tally).items()):
                values = self._series(*(job, str(value))[: len(labels)])
                family.add_metric(values, buckets(histogram), histogram.total)
        return family


def _skew(health: NodeHealth) -> float:
    return health.skew.total_seconds()


def _overdue(health: NodeHealth) -> float:
    return health.overdue.total_seconds()


def _backlog(health: NodeHealth) -> float:
    return health.backlog


def _at(health: NodeHealth) -> float:
    return health.at.timestamp()
