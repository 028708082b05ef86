"""The metrics of the beat door, to the letter; its board and its alert rules name no other."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from foliot.doors.beat import BeatMetrics
from foliot.doors.beat.executor import EnqueueWatcher, Try
from foliot.doors.beat.schedule import Schedule
from foliot.doors.beat.translation import job_of, policy_of
from foliot.model.query import JobView
from foliot.model.state import Record, State
from observability.test_metrics import NAMES

ASSETS = Path(__file__).parent.parent.parent / "docs/assets"
BOARD, RULES = ASSETS / "grafana-beat.json", ASSETS / "beat-alerts.yml"
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
OWN = {
    "scheduler_runs_total": ("counter", {"schedule_id", "status"}),
    "scheduler_run_duration_seconds": ("histogram", {"schedule_id"}),
    "scheduler_last_run_timestamp": ("gauge", {"schedule_id"}),
    "scheduler_next_run_timestamp": ("gauge", {"schedule_id"}),
    "scheduler_lock_failures_total": ("counter", {"schedule_id"}),
    "foliot_enqueue_seconds": ("histogram", {"queue"}),
    "foliot_enqueue_failures_total": ("counter", {"reason"}),
}
OF_THE_STORE = {
    "foliot_store_call_seconds",
    "foliot_store_conflicts_total",
    "foliot_store_memory_bytes",
    "foliot_store_regressions_total",
    "foliot_store_info",
}


def tried(schedule: str = "a", seconds: float | None = 0.02) -> Try:
    return Try("CeleryQueue", schedule, None if seconds is None else timedelta(seconds=seconds))


def view(schedule: str, *, next_at: datetime | None, last: datetime | None = None, **state: Any) -> JobView:
    job = job_of(Schedule(schedule, "@hourly", "work"), "bananas", policy_of(HOUR))
    record = Record(job, State(1, NOON, next_at=next_at, **state))
    return JobView(job.key, record, last_success_at=last)


@pytest.fixture
def metrics() -> BeatMetrics:
    metrics = BeatMetrics()
    metrics.on_job_enqueued(tried(), NOON, NOON + HOUR)
    metrics.on_job_failed(tried(), "timeout")
    metrics.on_job_failed(tried(seconds=None), "lock")
    return metrics


@pytest.mark.req("BAN-13")
def test_names_types_and_labels_are_those_of_the_document(metrics: BeatMetrics) -> None:
    assert isinstance(metrics, EnqueueWatcher)
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        total = "_total" if family.type == "counter" else ""
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        found[family.name + total] = family.type, labels

    assert {name: found[name] for name in OWN} == OWN
    assert NAMES.keys() <= found.keys(), "beside those of the engine"


@pytest.mark.req("BAN-13")
def test_what_is_counted(metrics: BeatMetrics) -> None:
    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, labels)

    assert value("scheduler_runs_total", schedule_id="a", status="success") == 1
    assert value("scheduler_runs_total", schedule_id="a", status="error") == 1, "a lock is no run"
    assert value("scheduler_run_duration_seconds_count", schedule_id="a") == 2
    assert value("scheduler_run_duration_seconds_sum", schedule_id="a") == pytest.approx(0.04)
    assert value("scheduler_last_run_timestamp", schedule_id="a") == NOON.timestamp()
    assert value("scheduler_next_run_timestamp", schedule_id="a") == (NOON + HOUR).timestamp()
    assert value("scheduler_lock_failures_total", schedule_id="a") == 1
    assert value("foliot_enqueue_seconds_count", queue="CeleryQueue") == 2
    assert value("foliot_enqueue_failures_total", reason="timeout") == 1
    assert value("foliot_enqueue_failures_total", reason="lock") == 1


@pytest.mark.req("BAN-13")
def test_times_of_other_nodes_come_from_the_store(metrics: BeatMetrics) -> None:
    later = NOON + 2 * HOUR
    metrics.on_schedules(
        [
            view("a", next_at=later, last=NOON + HOUR),
            view("b", next_at=later, last=NOON, paused_at=NOON),
            view("c", next_at=None),
        ]
    )
    metrics.on_schedules([view("a", next_at=later, last=NOON)])

    def series(name: str) -> dict[str, float]:
        (family,) = [one for one in metrics.collect() if one.name == name]
        return {sample.labels["schedule_id"]: sample.value for sample in family.samples}

    assert series("scheduler_last_run_timestamp") == {
        "a": (NOON + HOUR).timestamp(),
        "b": NOON.timestamp(),
    }, "it never falls"
    assert series("scheduler_next_run_timestamp") == {"a": later.timestamp()}, "b rests, and c is off"


def expressions(node: Any) -> Iterator[str]:
    """All expressions of a board or of rules."""
    if isinstance(node, dict):
        yield from (text for name, text in node.items() if name == "expr" and isinstance(text, str))
        node = list(node.values())
    for one in node if isinstance(node, list) else ():
        yield from expressions(one)


def named(expression: str) -> set[str]:
    found = re.findall(r"\b(?:scheduler|foliot)_\w+", re.sub(r"\{[^}]*\}", "", expression))
    return {re.sub("_(bucket|count|sum)$", "", name) for name in found}


@pytest.mark.parametrize("file", [BOARD, RULES], ids=lambda file: file.name)
def test_every_metric_on_the_board_and_in_the_rules_exists(file: Path) -> None:
    found = list(expressions(yaml.safe_load(file.read_text())))

    assert found
    assert all(named(expression) for expression in found)
    assert {name for one in found for name in named(one)} <= OWN.keys() | NAMES.keys() | OF_THE_STORE


def test_the_board_has_one_data_source_and_shows_every_metric_of_the_door() -> None:
    board = json.loads(BOARD.read_text())
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]

    assert [one["name"] for one in board["templating"]["list"]] == ["datasource"]
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    rows = [panel["title"] for panel in board["panels"] if panel["type"] == "row"]
    assert rows == ["Is it alive", "Schedules", "Enqueues", "Store"]
    shown = {name for expression in expressions(board) for name in named(expression)}
    assert shown >= OWN.keys() | OF_THE_STORE


@pytest.mark.req("BAN-16")
def test_the_alerts_are_there() -> None:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]

    assert [rule["alert"] for rule in group["rules"]] == [
        "ScheduleOverdue", "ScheduleFailing", "EnqueueStuck", "LockErrors", "StoreForgot", "StoreNearlyFull",
        "NotDurable", "JobsFail", "JobsStartLate", "JobsWait", "EngineSilent",
    ]  # fmt: skip
    if (promtool := shutil.which("promtool")) is not None:
        done = subprocess.run(  # noqa: S603 - a tool that checks
            [promtool, "check", "rules", str(RULES)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
