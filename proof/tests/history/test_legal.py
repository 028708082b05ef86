"""The checker alarms at nothing legal: not at perfect histories, nor at what the planner really decides."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot_proof.history import check
from history.blur import blur
from history.legal import draw_history
from history.planner_lives import draw_life

SEEDS = st.integers(0, 2**32)


@settings(max_examples=60)
@given(seed=SEEDS, is_stormy=st.booleans())
def test_perfect_histories_raise_no_alarm(seed: int, is_stormy: bool) -> None:  # noqa: FBT001 - drawn
    report = check(draw_history(seed, is_stormy=is_stormy))
    assert report.is_clean, str(report)


@settings(max_examples=40)
@given(seed=SEEDS)
def test_logs_that_are_less_sure_raise_no_alarm_either(seed: int) -> None:
    report = check(blur(draw_history(seed, hours=1), seed))
    assert report.is_clean, str(report)


@settings(max_examples=30)
@given(seed=SEEDS, has_slots=st.booleans())
def test_what_the_planner_decides_raises_no_alarm(seed: int, has_slots: bool) -> None:  # noqa: FBT001 - drawn
    history = draw_life(seed, has_slots=has_slots)
    for told in (history, blur(history, seed)):
        report = check(told)
        assert report.is_clean, str(report)


def test_little_is_excused() -> None:
    """A checker that excuses everything alarms at nothing, too."""
    found = [check(draw_history(seed)).measures for seed in range(20)]
    excused = sum(count for measures in found for count in measures.excuses.values())
    assert excused / sum(measures.occurrences for measures in found) < 0.03


@pytest.mark.parametrize("seed", range(5))
def test_the_verdict_does_not_hang_on_the_order_of_the_facts(seed: int) -> None:
    history = draw_history(seed, hours=1)
    backwards = type(history)(
        final=history.final,
        hosts=history.hosts[::-1],
        changes=history.changes[::-1],
        attempts=history.attempts[::-1],
        skips=history.skips[::-1],
        witness=history.witness[::-1],
        faults=history.faults[::-1],
    )
    assert check(backwards).measures == check(history).measures
    assert check(backwards).is_clean
