"""Who uses the cores: the nodes, the server, and everybody; as /proc tells it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from foliot.testing.servers.guardian import children_of

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_OWN = slice(11, 13)  # of the fields after the name: ticks in the program and in the kernel for it
_WITH_CHILDREN = slice(11, 15)  # and those of its children that have ended
_IDLE = slice(3, 5)  # of the processor's line: idle, and waiting for the disk


class Usage(NamedTuple):
    """CPU seconds so far, or in a second: then they are busy cores."""

    nodes: float
    server: float
    others: float

    def per_second(self, before: Usage, seconds: float) -> Usage:
        """What was used since then, so many seconds ago."""
        used = (max(0.0, later - earlier) for later, earlier in zip(self, before, strict=True))
        return Usage(*(amount / seconds for amount in used))


def usage_now(nodes: Iterable[int], server: int) -> Usage:
    """Of these processes, of a server with all that it has started, and of all others on this host."""
    mine, its = sum(_ticks(node, _OWN) for node in nodes) / _TICKS, usage_of_server(server)
    return Usage(mine, its, _usage_of_host() - mine - its)


def usage_of_server(server: int) -> float:
    """CPU seconds of a server, its processes, and those that have ended; none, if its number is 0."""
    if not server:
        return 0.0
    children = sum(_ticks(child, _OWN) for child in children_of(server))
    return (_ticks(server, _WITH_CHILDREN) + children) / _TICKS


def _ticks(process: int, which: slice) -> int:
    with suppress(OSError):
        text = (_PROC / str(process) / "stat").read_text(encoding="utf-8")
        return sum(map(int, text.rpartition(")")[2].split()[which]))
    return 0


def _usage_of_host() -> float:
    """All that the cores did, whoever asked for it."""
    with suppress(OSError):
        ticks = list(map(int, (_PROC / "stat").read_text(encoding="utf-8").partition("\n")[0].split()[1:9]))
        return (sum(ticks) - sum(ticks[_IDLE])) / _TICKS
    return 0.0
