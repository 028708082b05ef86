"""The example of the declarative scheduler, as its users start it: stopped in order, and killed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from programs import example


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_it_tells_its_events_and_stops_in_order(tmp_path: Path, stop: signal.Signals) -> None:
    with example(tmp_path, "declarative.py") as program:
        program.read_until("the backup begins")
        program.read_until("TaskRetryStarted fetch")
        assert program.end(stop) == 0
        lines = program.read_to_end()
    told = [line.strip() for line in lines]
    assert told[:3] == [
        "SchedulerInitializationStarted",
        "PollingStarted",
        "SchedulerInitializationCompleted",
    ]
    assert told[-1] == "SchedulerStopped"
    assert told.count("the backup begins") == told.count("the backup is done") >= 1


def test_a_killed_backup_begins_anew_at_the_next_start(tmp_path: Path) -> None:
    with example(tmp_path, "declarative.py") as program:
        program.read_until("the backup begins")
        program.end(signal.SIGKILL)
    with example(tmp_path, "declarative.py") as program:
        program.read_until("TaskRunStarted backup")
        program.read_until("the backup is done")
        assert program.end(signal.SIGTERM) == 0
