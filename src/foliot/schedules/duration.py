"""Durations as people write them: "90s", "5m", "1h30m"."""

from __future__ import annotations

import re
from datetime import timedelta

from foliot.errors import InvalidDurationError

_MICROSECONDS = {
    "us": 1,
    "µs": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_PART = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,6}))?(us|µs|ms|s|m|h|d)")
_LONGEST = 100
_HINT = 'write a number and a unit (s, m, h, d), such as "30s", "5m" or "1h30m"'


def parse_duration(text: str) -> timedelta:
    """Read "1h30m"; every part has a unit, and the parts add up."""
    if not isinstance(text, str):
        raise InvalidDurationError(text, "must be a text", hint=_HINT)
    if len(text) > _LONGEST:
        raise InvalidDurationError(text, f"is longer than {_LONGEST} characters", hint=_HINT)
    total, position = 0, 0
    while part := _PART.match(text, position):
        whole, fraction, unit = part.groups()
        size = _MICROSECONDS[unit]
        total += int(whole) * size + int((fraction or "").ljust(6, "0")) * size // 1_000_000
        position = part.end()
    if position == 0 or position < len(text):
        raise InvalidDurationError(text, f"cannot be read from character {position + 1}", hint=_HINT)
    try:
        return timedelta(microseconds=total)
    except OverflowError as error:
        raise InvalidDurationError(text, "is too long", hint=_HINT) from error


def format_duration(duration: timedelta) -> str:
    """The shortest text that `parse_duration` reads back."""
    microseconds = duration // timedelta(microseconds=1)
    parts = []
    for unit in ("d", "h", "m", "s", "ms", "us"):
        count, microseconds = divmod(microseconds, _MICROSECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
