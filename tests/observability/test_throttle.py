"""A flood of happenings is a few lines: the first at once, then sums, so that no disk is filled."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from foliot.model.attempt import Outcome
from foliot.model.decision import Event, Happening
from foliot.observability.log import LogListener
from observability.moments import NOON, SECOND, ended, health, started, told


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The lines since the last look."""
    caplog.set_level("INFO", logger="foliot")

    def take() -> list[str]:
        found = [record.getMessage() for record in caplog.records if "node_joined" not in record.getMessage()]
        caplog.clear()
        return found

    return take


def later(event: Event, seconds: float) -> Event:
    return event._replace(at=event.at + seconds * SECOND)


def a_late_start(at: float, late: float) -> Event:
    """One that is told at a time after noon, and should have been so long before."""
    due = NOON + (at - late) * SECOND
    event = started(scheduled_for=due)
    return event._replace(at=NOON + at * SECOND)


def test_an_hour_of_overload_is_two_lines_a_minute(lines: Callable[[], list[str]]) -> None:
    listener = LogListener()
    for second in range(3600):
        listener.on_events([a_late_start(second, late=60 + second)] * 20)
    told_lines = lines()
    assert len(told_lines) == 120
    assert " late=60.0 " in told_lines[0]
    assert told_lines[0].endswith("others=19")
    assert " late=90.0 " in told_lines[1], "the latest since, and not the first"
    assert told_lines[1].endswith("others=599"), "all since the last line are counted"


def test_what_is_left_of_a_flood_is_told_with_a_heartbeat(lines: Callable[[], list[str]]) -> None:
    listener = LogListener()
    listener.on_events([a_late_start(0, late=60)])
    listener.on_events([a_late_start(1, late=99), a_late_start(1, late=70)])
    lines()
    listener.on_health(health(after=29))
    assert lines() == []
    listener.on_health(health(after=30))
    (line,) = lines()
    assert " late=99.0 " in line
    assert line.endswith("others=1")
    listener.on_health(health(after=90))
    assert lines() == []


def test_a_clock_that_is_set_back_silences_nothing(lines: Callable[[], list[str]]) -> None:
    listener = LogListener()
    listener.on_events([a_late_start(0, late=60)])
    listener.on_events([a_late_start(-3600, late=60)])
    assert len(lines()) == 2


def test_failures_are_told_each_up_to_a_hundred_in_a_second(lines: Callable[[], list[str]]) -> None:
    listener = LogListener()
    failure = ended(outcome=Outcome.FAILED, reason="failed: no")
    listener.on_events([failure] * 99)
    assert len(lines()) == 99
    listener.on_events([failure] * 5000)
    assert len(lines()) == 1
    listener.on_events([later(failure, 1)])
    summed_up, again = lines()
    assert summed_up == "failures_suppressed count=4999"
    assert again.startswith("attempt_failed ")
    listener.on_events([later(failure, 1)] * 100)
    lines()
    listener.on_health(health(after=60))
    assert lines() == ["failures_suppressed count=1"]


def test_skips_and_definitions_are_told_ten_times_in_half_a_minute_and_then_summed_up(
    lines: Callable[[], list[str]],
) -> None:
    listener = LogListener()
    for number in range(100):
        listener.on_events([told(Happening.SKIPPED, f"app/{number}", "a run was still open")])
        listener.on_events([told(Happening.DECLARED), told(Happening.REMOVED)])
    found = lines()
    assert found[0] == 'occurrences_skipped job=app/0 reason="a run was still open"'
    assert found[1] == "jobs_changed declared=1 removed=1"
    assert len(found) == 20
    listener.on_health(health(after=31))
    assert sorted(lines()) == [
        "jobs_changed declared=90 removed=90",
        'occurrences_skipped job=app/10 reason="a run was still open" others=89',
    ]


def test_reasons_without_end_do_not_fill_the_memory(lines: Callable[[], list[str]]) -> None:
    listener = LogListener()
    for number in range(1000):
        at = timedelta(minutes=number)
        skip = told(Happening.SKIPPED, "app/a", f"reason {number}")
        listener.on_events([skip._replace(at=skip.at + at)])
    assert len(listener._skips) <= 51
    assert sum("other reasons" in line for line in lines()) == 950
