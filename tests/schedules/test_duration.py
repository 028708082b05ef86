from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.errors import InvalidDurationError
from foliot.schedules.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("1h", timedelta(hours=1)),
        ("2d", timedelta(days=2)),
        ("1h30m", timedelta(minutes=90)),
        ("1h0m5s", timedelta(seconds=3605)),
        ("1.5h", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("5us", timedelta(microseconds=5)),
        ("5µs", timedelta(microseconds=5)),
        ("0s", timedelta(0)),
        ("007s", timedelta(seconds=7)),
    ],
)
def test_reads_durations(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "5", "m", "5 m", "-5m", "+5m", "5m ", "5M", "1e3s", "٥m", "5y", "1h-30m", "s5", "1..5h", "\x00"],
)
def test_refuses_what_is_no_duration(text: str) -> None:
    with pytest.raises(InvalidDurationError) as caught:
        parse_duration(text)

    assert "5m" in (caught.value.hint or "")


@pytest.mark.parametrize("text", [None, 5, b"5m"])
def test_refuses_what_is_no_text(text: Any) -> None:
    with pytest.raises(InvalidDurationError, match="must be a text"):
        parse_duration(text)


def test_refuses_the_endless() -> None:
    with pytest.raises(InvalidDurationError, match="longer than 100"):
        parse_duration("1s" * 1_000_000)
    with pytest.raises(InvalidDurationError, match="too long"):
        parse_duration("999999999999d")


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=99999)))
def test_format_then_parse_gives_the_same_duration(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration
