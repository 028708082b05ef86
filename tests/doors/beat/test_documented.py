"""The reference names what users rely on."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from foliot.doors import beat
from foliot.doors.beat.history import Enqueueing
from observability.test_beat_metrics import OWN

PAGE = (Path(__file__).parents[3] / "docs/reference/beat.md").read_text()


def public(cls: type) -> list[str]:
    return [name for name in vars(cls) if not name.startswith("_") and name not in ("watch", "replace")]


NAMES = [
    *(name for name in beat.__all__ if name not in ("CeleryQueue", "Queue")),
    *(
        field.name
        for cls in (beat.Schedule, beat.ScheduleState, beat.Job, Enqueueing)
        for field in fields(cls)
    ),
    *inspect.signature(beat.CronScheduler).parameters,
    *public(beat.CronScheduler),
    *public(beat.Registry),
    *public(beat.DistributedLock),
]


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"remove"}))
def test_each_name_is_documented(name: str) -> None:
    assert re.search(rf"[`(, .*]{name}[`(,=)]", PAGE)


def test_the_names_are_those_that_were_promised() -> None:
    assert sorted(beat.__all__) == [
        "BeatError", "BeatMetrics", "CeleryQueue", "CronScheduler", "DistributedLock",
        "DuplicateScheduleError", "InvalidScheduleError", "Job", "LockError", "Queue", "Registry", "Schedule",
        "ScheduleState",
    ]  # fmt: skip
    lazily: Any = beat
    assert lazily.BeatMetrics.__name__ == "BeatMetrics"
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        assert lazily.Nothing


@pytest.mark.parametrize("name", OWN)
def test_each_metric_is_documented_with_its_kind_and_labels(name: str) -> None:
    kind, labels = OWN[name]
    (row,) = [row for row in PAGE.splitlines() if row.startswith(f"| `{name}` ")]

    assert row.split(" | ")[1] == kind
    assert set(re.findall(r"`(\w+)`", row.split(" | ")[2])) == labels
