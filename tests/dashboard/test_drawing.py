"""The numbers of drawings: what is nearly equal looks equal, and what is told is what is drawn."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from foliot.dashboard.drawing import LEVELS, days_of_year, levels
from foliot.dashboard.view import environment
from foliot.dashboard.words import word_of
from foliot.schedules import Cron

NOW = datetime(2026, 10, 24, 21, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    ("counts", "steps"),
    [
        ([694, 695, 696], [5, 5, 5]),
        ([0, 1, 100], [0, 1, 5]),
        ([0, 20, 21, 40, 41, 100], [0, 1, 2, 2, 3, 5]),
        ([1, 1, 0], [1, 1, 0]),
        ([0, 0], [0, 0]),
        ([], []),
    ],
)
def test_a_colour_is_a_part_of_the_most_and_begins_at_zero(counts: list[int], steps: list[int]) -> None:
    assert levels(counts) == steps


@pytest.mark.parametrize("most", [1, 4, 5, 7, 14, 696])
def test_the_legend_tells_the_counts_of_each_colour(most: int) -> None:
    macros = environment().get_template("macros.html").make_module({"f": None, "t": None, "now": NOW})
    legend = str(macros.scale(most))  # type: ignore[attr-defined]
    steps = levels([*range(most + 1)])
    for step in range(1, LEVELS + 1):
        counts = [count for count, level in enumerate(steps) if level == step]
        told = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}" if counts else None
        assert (f'class="l{step}"' in legend) == bool(counts)
        assert told is None or f"</svg>{told}</span>" in legend


def test_a_year_has_months_and_today() -> None:
    days = days_of_year([], Cron("0 4 * * *"), NOW, ZoneInfo("Europe/Berlin"))
    [today] = [one for one in days if one.is_today]
    assert today.day.isoformat() == "2026-10-24"
    assert ", today: " in today.text
    months = [one for one in days if one.month]
    assert [one.month for one in months][-6:] == ["Nov", "Dec", "Jan", "Feb", "Mar", "Apr"]
    assert len(months) == 12
    assert {one.y for one in months} == {0}, "names stand above the weeks"


def test_verbs_of_the_audit_are_words() -> None:
    assert word_of("patch_job") == "change a job"
    assert word_of("patch_pipeline_by_name") == "change a pipeline"
    assert word_of("timed_out") == "timed out"
    assert word_of(None) == ""
