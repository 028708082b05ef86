"""The small parts of what commands write."""

from __future__ import annotations

from datetime import timedelta

import pytest

from foliot.cli.output import silence, write
from foliot.shown import in_words


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (timedelta(0), "in 0 s"),
        (timedelta(milliseconds=1), "in 1 s"),
        (timedelta(seconds=59), "in 59 s"),
        (timedelta(seconds=59, milliseconds=1), "in 1 min"),
        (timedelta(seconds=72), "in 1 min 12 s"),
        (timedelta(hours=2, minutes=5, seconds=59), "in 2 h 5 min"),
        (timedelta(hours=2, seconds=59), "in 2 h"),
        (timedelta(days=1, hours=1, minutes=1), "in 1 d 1 h"),
        (timedelta(days=1461), "in 1461 d"),
    ],
)
def test_a_wait_is_told_in_its_two_largest_units(wait: timedelta, words: str) -> None:
    assert in_words(wait) == words


def test_a_stream_that_the_shell_closed_is_no_trouble() -> None:
    write("into the void", None)
    silence(None)
