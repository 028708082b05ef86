"""Histories as a harness outside would log them: unsure when things happened, and sometimes whether."""

from __future__ import annotations

import random
from dataclasses import replace

from foliot_proof.history import History, Trouble, Verdict
from history.legal import seconds


def blur(history: History, seed: int) -> History:
    """The same history: questions and answers apart, some answers lost, faults known to a few seconds."""
    rng = random.Random(seed)  # noqa: S311 - chance that can be repeated
    changes = []
    for change in history.changes:
        before, after = (seconds(rng.choice([0, 0.2, 3]) * rng.random()) for _ in range(2))
        asked, answered = change.asked_at - before, change.asked_at + after
        verdict = change.verdict if rng.random() < 0.9 else Verdict.UNKNOWN
        changes.append(change._replace(asked_at=asked, answered_at=answered, verdict=verdict))
    faults = []
    for fault in history.faults:
        slack = seconds(rng.choice([0, 2]) if fault.kind is not Trouble.CLOCK else 0)
        begin = fault.begin + slack * rng.uniform(-1, 1)
        end = fault.end and fault.end + slack * rng.uniform(-1, 1)
        faults.append(fault._replace(begin=begin, end=end, slack=slack))
    return replace(history, changes=tuple(changes), faults=tuple(faults))
