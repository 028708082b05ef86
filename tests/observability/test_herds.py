"""Of a herd that goes well nothing is told, so nothing is made of its events: it is counted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.decision import Event
from foliot.model.events import HerdEnded, HerdStarted
from foliot.model.job import Action, Job
from foliot.model.run import Run
from foliot.observability.log import LATE, LogListener
from foliot.observability.metrics import Metrics
from foliot.schedules import Cron
from foliot.testing.clock import ManualClock

NOW = ManualClock().now()
MANY = 50


class Made:
    """Counts the events that are made."""

    made = 0

    def _make(self, place: int) -> Event:
        self.made += 1
        event: Event = super()._make(place)  # type: ignore[misc] # of the herd
        return event


class CountedStart(Made, HerdStarted):
    pass


class CountedEnd(Made, HerdEnded):
    pass


def some_runs(late: timedelta = timedelta(0)) -> list[Run]:
    job = Job(source="s", name="n", schedule=Cron("@daily"), action=Action(kind="x"))
    attempts = (
        Attempt(f"s/n{n}", 1, Trigger.SCHEDULE, AttemptState.RUNNING, NOW - late, token=1, claimed_at=NOW)
        for n in range(MANY)
    )
    return [Run(job, attempt) for attempt in attempts]


def ended(runs: Sequence[Run]) -> CountedEnd:
    second = timedelta(seconds=1)
    endings = [
        run.ending(Outcome.SUCCEEDED, NOW + second, NOW + (2 + n % 2) * second) for n, run in enumerate(runs)
    ]
    return CountedEnd(runs, endings, NOW)


def test_a_herd_that_has_started_late_is_one_line_with_its_number(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "foliot")
    herd = CountedStart(some_runs(LATE), NOW - LATE, NOW)
    LogListener().on_events(herd)
    assert f"others={MANY - 1}" in caplog.text
    assert caplog.text.count("start_late") == 1
    assert herd.made <= 3


@pytest.mark.parametrize("title", [None, lambda _: None], ids=["no part", "no title"])
def test_the_log_makes_no_event_of_a_start_or_success_that_it_does_not_tell(title: Any) -> None:
    log = LogListener() if title is None else LogListener(title)
    for herd in (CountedStart(some_runs(), NOW, NOW), ended(some_runs())):
        log.on_events(herd)
        assert herd.made <= 1, "the last one tells the time"


def test_the_log_tells_of_each_job_that_has_a_title(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "foliot")
    log = LogListener(lambda job: "Seven" if job == "s/n7" else None)
    log.on_events(CountedStart(some_runs(), NOW, NOW))
    log.on_events(ended(some_runs()))
    assert [line.getMessage().split()[:2] for line in caplog.records] == [
        ["run_started", "name=Seven"],
        ["run_succeeded", "name=Seven"],
    ]


def test_of_a_late_herd_with_one_title_the_lateness_is_still_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "foliot")
    log = LogListener(lambda job: "Seven" if job == "s/n7" else None)
    log.on_events(CountedStart(some_runs(LATE), NOW - LATE, NOW))
    assert (caplog.text.count("run_started"), caplog.text.count("start_late")) == (1, 1)
    assert f"others={MANY - 1}" in caplog.text


def test_metrics_count_a_herd_by_its_times() -> None:
    metrics = Metrics()
    herd = ended(some_runs())
    metrics.on_events(herd)
    name = "foliot_attempt_duration_seconds"
    value = metrics.registry.get_sample_value
    assert value(f"{name}_count", {"outcome": "succeeded"}) == MANY
    assert value(f"{name}_bucket", {"outcome": "succeeded", "le": "1.0"}) == MANY / 2
    assert value(f"{name}_sum", {"outcome": "succeeded"}) == MANY / 2 * 3
    assert value("foliot_start_delay_seconds_sum") == MANY
    assert herd.made == 0
