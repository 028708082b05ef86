"""The witness log: lines that nodes and their jobs write about themselves, one write() each.

What a process has written stays when it is killed; nothing is buffered, and nothing is changed later.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from foliot.clock import SystemClock

_CLOCK = SystemClock()


class WitnessLog:
    """Where a process writes."""

    def __init__(self, path: str, host: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._host = host
        self.noted: set[str] = set()

    def note(self, what: str, **facts: Any) -> None:
        """Write a line; the kernel keeps lines whole."""
        self.noted.add(what)
        line = {"what": what, "host": self._host, "at": _CLOCK.monotonic(), **facts}
        os.write(self._file, json.dumps(line).encode() + b"\n")


class Times:
    """Turns readings of the monotonic clock into instants, as the clock of the harness saw them."""

    def __init__(self) -> None:
        self._then, self._reading = _CLOCK.now(), _CLOCK.monotonic()

    def now(self) -> datetime:
        """The present instant."""
        return self.instant(_CLOCK.monotonic())

    def instant_of_uptime(self, seconds: float) -> datetime:
        """The instant of what /proc/uptime showed, which is all that a shell can read of such a clock."""
        return self.instant(seconds)  # both go on while the machine is suspended

    def instant(self, reading: float) -> datetime:
        """The instant of a reading."""
        return (self._then + timedelta(seconds=reading - self._reading)).astimezone(UTC)


class Note(NamedTuple):
    """One line of the witness log."""

    what: str
    host: str
    at: datetime
    facts: dict[str, Any]


def read_witness_log(path: Path, times: Times) -> list[Note]:
    """All whole lines, in the order they were written."""
    if not path.exists():
        return []
    found = []
    for line in path.read_bytes().splitlines():
        facts = json.loads(line)
        what, host, uptime = facts.pop("what"), facts.pop("host"), facts.pop("uptime", None)
        at = times.instant(facts.pop("at")) if uptime is None else times.instant_of_uptime(uptime)
        found.append(Note(what, host, at, facts))
    return found


class Tail:
    """The witness log while it is written: how often what was noted, and what each host noted last when."""

    def __init__(self, path: Path, times: Times) -> None:
        self.counts: Counter[str] = Counter()
        self.last: dict[tuple[str, str], datetime] = {}
        self._path = path
        self._times = times
        self._place = 0

    def read_on(self) -> None:
        """Take in what was written since."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._place)
            whole, _, _ = file.read().rpartition(b"\n")
        self._place += len(whole) + bool(whole)
        for line in whole.splitlines():
            facts = json.loads(line)
            self.counts[facts["what"]] += 1
            if "at" in facts:
                self.last[facts["host"], facts["what"]] = self._times.instant(facts["at"])
