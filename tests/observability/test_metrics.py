"""What is counted and measured, under which names."""

from __future__ import annotations

import threading
import timeit
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.parser import text_string_to_metric_families

from foliot.errors import StoreUnavailableError
from foliot.model.alert import Alert, AlertKind
from foliot.model.attempt import Outcome, Trigger
from foliot.model.decision import Event, Happening
from foliot.model.histogram import Histogram as Calls
from foliot.model.outbox import AlertState, ChannelAlert
from foliot.model.query import JobView
from foliot.model.state import Node
from foliot.model.view import AlertHealth, EnqueueHealth, NodeView, SourceHealth, StoreHealth
from foliot.observability import Metrics
from foliot.observability.tally import MOST_JOBS
from observability.moments import NOON, ended, health, started, told

NAMES = {
    "foliot_attempts_started_total": ("counter", "trigger"),
    "foliot_attempts_ended_total": ("counter", "outcome"),
    "foliot_skips_total": ("counter", "reason"),
    "foliot_start_lateness_seconds": ("histogram", "trigger"),
    "foliot_start_delay_seconds": ("histogram", ""),
    "foliot_attempt_duration_seconds": ("histogram", "outcome"),
    "foliot_job_last_success_timestamp_seconds": ("gauge", ""),
    "foliot_open_attempts": ("gauge", ""),
    "foliot_turn_duration_seconds": ("histogram", "turn"),
    "foliot_leases_lost_total": ("counter", ""),
    "foliot_nodes_declared_dead_total": ("counter", ""),
    "foliot_store_troubles_total": ("counter", "error"),
    "foliot_clock_jumps_total": ("counter", "direction"),
    "foliot_clock_skew_seconds": ("gauge", ""),
    "foliot_backlog_age_seconds": ("gauge", ""),
    "foliot_backlog_jobs": ("gauge", ""),
    "foliot_last_heartbeat_timestamp_seconds": ("gauge", ""),
    "foliot_source_jobs": ("gauge", "source"),
    "foliot_source_failures": ("gauge", "source"),
    "foliot_source_pulled_timestamp_seconds": ("gauge", "source"),
    "foliot_source_jobs_dropped_total": ("counter", "source"),
    "foliot_alerts_total": ("counter", "channel,kind,outcome"),
    "foliot_alerts_waiting": ("gauge", "channel"),
    "foliot_enqueue_seconds": ("histogram", "queue"),
    "foliot_enqueue_failures_total": ("counter", "reason"),
    "foliot_celery_queue_length": ("gauge", "queue"),
    "foliot_store_info": ("gauge", "eviction,fsync,server,version"),
    "foliot_store_memory_bytes": ("gauge", ""),
    "foliot_store_call_seconds": ("histogram", "verb"),
    "foliot_store_conflicts_total": ("counter", "verb"),
    "foliot_store_script_loads_total": ("counter", ""),
    "foliot_store_regressions_total": ("counter", ""),
}
HOUR = timedelta(hours=1)
CALLS = Calls((0.01, 1.0))
CALLS.observe(timedelta(milliseconds=20))
STORE = StoreHealth(
    "valkey", "9.1.2", "everysec", "noeviction", 4711, {"claim": CALLS}, {"finish": 3}, 7, 1, "it was emptied"
)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def with_everything(**settings: object) -> Metrics:
    metrics = Metrics(**settings)  # type: ignore[arg-type] # handed on
    metrics.on_events([started(late=3), ended(), told(Happening.SKIPPED, reason="a run was still open")])
    metrics.on_trouble(StoreUnavailableError("claim", "the disk is full"))
    metrics.on_turn("claim", timedelta(milliseconds=7), 5)
    metrics.on_health(health(skew=0.25, overdue=9))
    metrics.on_lease_lost("n1")
    metrics.on_burial("n1", NodeView(Node("n2"), datetime(2026, 1, 1, tzinfo=UTC), 4))
    metrics.on_source(SourceHealth("ops", 2, datetime(2026, 1, 1, tzinfo=UTC), 7, 9))
    sent = ChannelAlert("ops", Alert("a", NOON, AlertKind.LATE, "app/a"), AlertState.SENT)
    metrics.on_alerts(AlertHealth(settled=[sent], waiting={"ops": 1}))
    metrics.on_enqueued(EnqueueHealth([("mail", timedelta(seconds=1))], ["refused"], {"mail": 1}))
    metrics.on_store(STORE)
    return metrics


def test_how_a_store_fares_that_measures_itself() -> None:
    metrics = with_everything()
    facts = {"server": "valkey", "version": "9.1.2", "fsync": "everysec", "eviction": "noeviction"}
    assert value(metrics, "foliot_store_info", **facts) == 1
    assert value(metrics, "foliot_store_memory_bytes") == 4711
    assert value(metrics, "foliot_store_call_seconds_bucket", verb="claim", le="0.01") == 0
    assert value(metrics, "foliot_store_call_seconds_bucket", verb="claim", le="1.0") == 1
    assert value(metrics, "foliot_store_conflicts_total", verb="finish") == 3
    assert value(metrics, "foliot_store_script_loads_total") == 7
    assert value(metrics, "foliot_store_regressions_total") == 1
    assert value(Metrics(), "foliot_store_regressions_total") is None, "not every store can be asked"


def test_how_a_source_fares() -> None:
    metrics = with_everything()
    metrics.on_source(SourceHealth("ops", 3, None, 7, 1))
    assert value(metrics, "foliot_source_failures", source="ops") == 3
    assert value(metrics, "foliot_source_jobs", source="ops") == 7
    assert value(metrics, "foliot_source_jobs_dropped_total", source="ops") == 10
    assert value(metrics, "foliot_source_pulled_timestamp_seconds", source="ops") is None


def test_alerts_are_counted_by_kind_channel_and_outcome_and_those_that_wait_are_told() -> None:
    metrics = Metrics()
    late = ChannelAlert("ops", Alert("a", NOON, AlertKind.LATE, "app/a"), AlertState.SENT)
    metrics.on_alerts(AlertHealth(settled=[late, late]))
    metrics.on_alerts(AlertHealth(settled=[late._replace(state=AlertState.REFUSED)], waiting={"ops": 3}))
    assert value(metrics, "foliot_alerts_total", kind="late", channel="ops", outcome="sent") == 2
    assert value(metrics, "foliot_alerts_total", kind="late", channel="ops", outcome="refused") == 1
    assert value(metrics, "foliot_alerts_waiting", channel="ops") == 3
    metrics.on_alerts(AlertHealth(waiting={"ops": 0}))
    assert value(metrics, "foliot_alerts_waiting", channel="ops") == 0


def test_what_is_put_into_queues_of_others_is_measured_and_failures_are_counted_by_reason() -> None:
    metrics = Metrics()
    took = timedelta(milliseconds=30)
    metrics.on_enqueued(EnqueueHealth([("mail", took), ("mail", took)], ["timeout", "refused", "timeout"]))
    metrics.on_enqueued(EnqueueHealth(lengths={"mail": 7}))
    assert value(metrics, "foliot_enqueue_seconds_count", queue="mail") == 2
    assert value(metrics, "foliot_enqueue_seconds_bucket", queue="mail", le="0.025") == 0
    assert value(metrics, "foliot_enqueue_seconds_bucket", queue="mail", le="0.05") == 2
    assert value(metrics, "foliot_enqueue_failures_total", reason="timeout") == 2
    assert value(metrics, "foliot_enqueue_failures_total", reason="refused") == 1
    assert value(metrics, "foliot_celery_queue_length", queue="mail") == 7
    metrics.on_enqueued(EnqueueHealth([("mail", took)]))
    assert value(metrics, "foliot_celery_queue_length", queue="mail") == 7, "nobody has counted anew"


@pytest.mark.parametrize("by_job", [False, True])
def test_names_kinds_and_labels_are_pinned(by_job: bool) -> None:  # noqa: FBT001 - a column of the table
    families = text_string_to_metric_families(with_everything(by_job=by_job).text().decode())

    found = {}
    for family in families:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        found[name] = (family.type, ",".join(sorted(labels - {"job"})))
        of_job = name.startswith(("foliot_attempt", "foliot_start_", "foliot_skips"))
        always = name == "foliot_job_last_success_timestamp_seconds"
        assert ("job" in labels) is (always or (by_job and of_job)), name
        assert family.documentation.endswith(".")
    assert found == NAMES


@pytest.mark.parametrize(
    ("batch", "name", "labels", "expected"),
    [
        ([started()] * 3, "foliot_attempts_started_total", {"trigger": "schedule"}, 3),
        ([started(trigger=Trigger.RETRY)], "foliot_attempts_started_total", {"trigger": "retry"}, 1),
        ([], "foliot_attempts_started_total", {"trigger": "catch_up"}, 0),
        (
            [started()._replace(what=Happening.WAITS)],
            "foliot_attempts_started_total",
            {"trigger": "schedule"},
            0,
        ),
        ([ended(), ended()], "foliot_attempts_ended_total", {"outcome": "succeeded"}, 2),
        ([ended(outcome=Outcome.FAILED)], "foliot_attempts_ended_total", {"outcome": "failed"}, 1),
        ([], "foliot_attempts_ended_total", {"outcome": "lost"}, 0),
        ([started(late=3)], "foliot_start_lateness_seconds_sum", {"trigger": "schedule"}, 3),
        ([started(late=3)], "foliot_start_lateness_seconds_bucket", {"trigger": "schedule", "le": "2.5"}, 0),
        ([started(late=5)], "foliot_start_lateness_seconds_bucket", {"trigger": "schedule", "le": "5.0"}, 1),
        (
            [started(late=90_000, trigger=Trigger.CATCH_UP)],
            "foliot_start_lateness_seconds_bucket",
            {"trigger": "catch_up", "le": "+Inf"},
            1,
        ),
        ([started(late=-1)], "foliot_start_lateness_seconds_sum", {"trigger": "schedule"}, 0),
        ([started(trigger=Trigger.RETRY)], "foliot_start_lateness_seconds_count", {"trigger": "retry"}, None),
        ([ended(took=4)], "foliot_attempt_duration_seconds_sum", {"outcome": "succeeded"}, 4),
        ([ended(took=4)], "foliot_start_delay_seconds_sum", {}, 0.5),
        (
            [ended(outcome=Outcome.LOST, started_at=None)],
            "foliot_attempts_ended_total",
            {"outcome": "lost"},
            1,
        ),
        (
            [ended(outcome=Outcome.LOST, started_at=None)],
            "foliot_attempt_duration_seconds_count",
            {"outcome": "lost"},
            None,
        ),
        (
            [told(Happening.SKIPPED, reason=f"more than {n} were missed") for n in (1, 24, 100)],
            "foliot_skips_total",
            {"reason": "more than N were missed"},
            3,
        ),
        (
            [told(Happening.SKIPPED, reason="x" * n) for n in range(1, 100)],
            "foliot_skips_total",
            {"reason": "other"},
            49,
        ),
        ([told(Happening.WAITS), told(Happening.PAUSED)], "foliot_skips_total", {"reason": ""}, None),
    ],
)
def test_events_are_counted_and_measured(
    batch: Sequence[Event], name: str, labels: dict[str, str], expected: float | None
) -> None:
    metrics = Metrics()

    metrics.on_events(batch)

    assert value(metrics, name, **labels) == expected


def test_how_the_node_fares() -> None:
    metrics = with_everything()
    for jump in (3, 30, -2, 1):
        metrics.on_health(health(jump=jump, skew=0.25, overdue=9, backlog=1234))

    assert value(metrics, "foliot_open_attempts") == 5
    assert value(metrics, "foliot_turn_duration_seconds_sum", turn="claim") == 0.007
    assert value(metrics, "foliot_turn_duration_seconds_count", turn="report") == 0
    assert value(metrics, "foliot_leases_lost_total") == 1
    assert value(metrics, "foliot_nodes_declared_dead_total") == 1
    assert value(metrics, "foliot_store_troubles_total", error="StoreUnavailableError") == 1
    assert value(metrics, "foliot_clock_jumps_total", direction="forward") == 2
    assert value(metrics, "foliot_clock_jumps_total", direction="backward") == 1
    assert value(metrics, "foliot_clock_skew_seconds") == 0.25
    assert value(metrics, "foliot_backlog_age_seconds") == 9
    assert value(metrics, "foliot_backlog_jobs") == 1234
    assert value(metrics, "foliot_last_heartbeat_timestamp_seconds") == health().at.timestamp()


def test_before_the_first_heartbeat_nothing_is_claimed_about_time() -> None:
    assert value(Metrics(), "foliot_clock_skew_seconds") is None
    assert value(Metrics(), "foliot_last_heartbeat_timestamp_seconds") is None


def test_ten_thousand_jobs_are_not_ten_thousand_series() -> None:
    metrics, one = Metrics(), Metrics()
    one.on_events([started(), ended()])

    metrics.on_events([event for n in range(10_000) for event in (started(f"app/{n}"), ended(f"app/{n}"))])

    assert metrics.text().count(b"\n") == one.text().count(b"\n") + MOST_JOBS - 1


def test_the_last_success_of_a_job_is_known_from_the_start() -> None:
    metrics, name = Metrics(), "foliot_job_last_success_timestamp_seconds"
    at = datetime(2026, 1, 1, tzinfo=UTC)
    metrics.on_jobs([JobView("app/a", None, at), JobView("app/b", None)])
    metrics.on_events([ended("app/c"), ended("app/d", outcome=Outcome.FAILED)])
    assert value(metrics, name, job="app/a") == at.timestamp()
    assert value(metrics, name, job="app/b") is None
    assert value(metrics, name, job="app/c") is not None
    assert value(metrics, name, job="app/d") is None


def test_jobs_are_told_apart_on_request() -> None:
    metrics = Metrics(by_job=True)
    metrics.on_events([started("app/a"), started("app/a"), started("app/b")])

    name = "foliot_attempts_started_total"
    assert value(metrics, name, job="app/a", trigger="schedule") == 2
    assert value(metrics, name, job="app/b", trigger="schedule") == 1


def test_some_jobs_are_told_apart_and_the_rest_is_together() -> None:
    metrics = Metrics(by_job=["app/a"])
    metrics.on_events([started("app/a"), *(started(f"app/{n}") for n in range(100))])

    name = "foliot_start_lateness_seconds_count"
    assert value(metrics, name, job="app/a", trigger="schedule") == 1
    assert value(metrics, name, job="", trigger="schedule") == 100
    assert value(metrics, name, job="app/1", trigger="schedule") is None


def test_a_registry_of_the_users_own_is_used_and_two_of_us_do_not_fit_into_one() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry=registry)

    assert metrics.registry is registry
    assert Metrics().registry is not Metrics().registry
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        Metrics(registry=registry)


def test_counting_is_much_quicker_than_by_the_clients_own_objects() -> None:
    registry, events = CollectorRegistry(), [ended()] * 1000
    count = Counter("ended", "Ended.", ["outcome"], registry=registry)
    duration = Histogram("duration", "Duration.", ["outcome"], registry=registry)
    delay = Histogram("delay", "Delay.", registry=registry)

    def with_the_client() -> None:
        for event in events:
            it: Any = event.attempt
            count.labels(it.outcome).inc()
            duration.labels(it.outcome).observe((it.finished_at - it.started_at).total_seconds())
            delay.observe((it.started_at - it.claimed_at).total_seconds())

    metrics = Metrics()
    ours = min(timeit.repeat(lambda: metrics.on_events(events), number=5, repeat=10))
    theirs = min(timeit.repeat(with_the_client, number=5, repeat=10))

    assert ours * 2 < theirs


def test_a_scrape_sees_whole_batches_while_an_engine_counts() -> None:
    metrics, batch, over = Metrics(), [started()] * 100, threading.Event()

    def count() -> None:
        for _ in range(300):
            metrics.on_events(batch)
        over.set()

    counting = threading.Thread(target=count)
    counting.start()
    seen = []
    while not over.is_set():
        seen.append(value(metrics, "foliot_attempts_started_total", trigger="schedule") or 0.0)
    counting.join()

    assert seen == sorted(seen)
    assert not [count for count in seen if count % 100]
    assert value(metrics, "foliot_attempts_started_total", trigger="schedule") == 30_000
