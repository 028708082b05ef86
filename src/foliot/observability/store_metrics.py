"""Metrics of a store that measures itself (`foliot.protocols_health.MeasuredStore`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from foliot.model.histogram import Histogram
from foliot.model.view import StoreHealth


def store_families(health: StoreHealth | None) -> Iterator[Metric]:
    """The families; of a store that does not measure itself they are empty."""
    info = GaugeMetricFamily(
        "foliot_store_info", "The store's server, and its settings.",
        labels=("server", "version", "fsync", "eviction"),
    )  # fmt: skip
    memory = GaugeMetricFamily("foliot_store_memory_bytes", "Memory of the store's server.", labels=())
    calls = HistogramMetricFamily(
        "foliot_store_call_seconds", "How long calls of the store took.", labels=("verb",)
    )
    conflicts = CounterMetricFamily(
        "foliot_store_conflicts",
        "Jobs that another writer had changed between reading and writing.",
        labels=("verb",),
    )
    loads = CounterMetricFamily(
        "foliot_store_script_loads", "Scripts that were sent to the store's server.", labels=()
    )
    regressions = CounterMetricFamily(
        "foliot_store_regressions", "How often the store had lost what it had answered.", labels=()
    )
    if health is not None:
        info.add_metric((health.server, health.version, health.fsync, health.eviction), 1)
        if health.memory is not None:
            memory.add_metric((), health.memory)
        for verb, histogram in sorted(health.calls.items()):
            calls.add_metric((verb,), buckets(histogram), histogram.total)
        for verb, count in sorted(health.conflicts.items()):
            conflicts.add_metric((verb,), count)
        loads.add_metric((), health.script_loads)
        regressions.add_metric((), health.regressions)
    yield from (info, memory, calls, conflicts, loads, regressions)


def buckets(histogram: Histogram) -> list[tuple[str, float]]:
    """Prometheus counts what lies below each bound, all of it."""
    bounds = [*(str(bound) for bound in histogram.bounds), "+Inf"]
    return list(zip(bounds, accumulate(histogram.counts), strict=True))
