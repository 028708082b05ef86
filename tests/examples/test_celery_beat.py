"""The example of a beat for Celery, started as its users start it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import example

PATIENCE = 180


@pytest.mark.prove
def test_two_beats_send_each_greeting_once(tmp_path: Path) -> None:
    with example(tmp_path, "celery_beat.py") as program:
        assert program.process.wait(PATIENCE) == 0
        told = program.read_to_end()
    greetings = [line for line in told if line.startswith("hello, world, at 20")]
    assert len(greetings) == len(set(greetings)) == 5
    assert all(re.fullmatch(r"hello, world, at [0-9T:-]{19}Z", line) for line in greetings)
