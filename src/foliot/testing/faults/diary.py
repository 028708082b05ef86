"""The diary: lines that nodes and their jobs write about themselves, one write() each.

What a process has written stays when it is killed; nothing is buffered, and nothing is changed later.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from foliot.clock import SystemClock

_CLOCK = SystemClock()


class Diary:
    """Where a process writes."""

    def __init__(self, path: str, host: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._host = host

    def note(self, what: str, **facts: Any) -> None:
        """Write a line; the kernel keeps lines whole."""
        line = {"what": what, "host": self._host, "at": _CLOCK.monotonic(), **facts}
        os.write(self._file, json.dumps(line).encode() + b"\n")


class Times:
    """Turns readings of the monotonic clock into instants, as the clock of the harness saw them."""

    def __init__(self) -> None:
        self._then, self._reading = _CLOCK.now(), _CLOCK.monotonic()

    def now(self) -> datetime:
        """The present instant."""
        return self.instant(_CLOCK.monotonic())

    def instant(self, reading: float) -> datetime:
        """The instant of a reading."""
        return (self._then + timedelta(seconds=reading - self._reading)).astimezone(UTC)


class Note(NamedTuple):
    """One line of the diary."""

    what: str
    host: str
    at: datetime
    facts: dict[str, Any]


def read_diary(path: Path, times: Times) -> list[Note]:
    """All whole lines, in the order they were written."""
    if not path.exists():
        return []
    found = []
    for line in path.read_bytes().splitlines():
        facts = json.loads(line)
        what, host, at = facts.pop("what"), facts.pop("host"), times.instant(facts.pop("at"))
        found.append(Note(what, host, at, facts))
    return found
