"""Histories survive being written as lines of JSON, in any order."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from foliot.model.policy import Keep, Misfire, MisfireMode, Retry, parallel
from foliot_proof.history import (
    Bounds,
    Final,
    Forgotten,
    Host,
    Identity,
    Operation,
    Trouble,
    Verdict,
    from_json,
    from_lines,
    to_json,
    to_lines,
)
from history.case_builder import JOB, CaseBuilder, clock
from history.legal import draw_history


@pytest.mark.parametrize("seed", range(3))
def test_a_history_comes_back_as_it_was(seed: int) -> None:
    history = replace(
        draw_history(seed, hours=1),
        bounds=Bounds(eps=timedelta(seconds=2.5), zombies=3),
        hosts=(Host("a", (("default", 2), ("slow", 1))), Host("b")),
        identities=(Identity("n1", "a"),),
        forgotten=(Forgotten(JOB, clock("10:00")),),
    )
    lines = list(to_lines(history))
    assert from_lines(lines) == history
    assert from_lines(["", *lines, "\n"]) == history


def test_policies_keep_what_is_not_their_default() -> None:
    case = CaseBuilder().declare(
        retry=Retry(max=None, delay="90s", backoff=2, jitter=0.5, is_preempted=True),
        keep=Keep(last=None, days=None),
        misfire=Misfire(mode=MisfireMode.ALL, limit=7, grace=timedelta(0)),
        overlap=parallel(),
        timeout=timedelta(minutes=1),
    )
    case.change(Operation.CANCEL, "10:00", subject="x", verdict=Verdict.UNKNOWN, answered_at=clock("10:01"))
    case.fault(Trouble.CLOCK, "10:00", None, None, offset=timedelta(hours=-1), slack=timedelta(seconds=1))
    assert from_lines(to_lines(case.history())) == case.history()


def test_a_fact_is_one_line_of_plain_json() -> None:
    line = to_json(Final(clock("10:00")))
    assert json.loads(line) == {"fact": "Final", "at": "2026-03-02T10:00:00+00:00"}
    assert from_json(line) == Final(clock("10:00"))
    assert "\n" not in line


def test_lines_without_bounds_are_judged_by_the_usual_ones() -> None:
    lines = [line for line in to_lines(CaseBuilder().history()) if "Bounds" not in line]
    assert from_lines(lines).bounds == Bounds()
