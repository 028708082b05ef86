"""Goal P9 on PostgreSQL: what a node and its server spend while more and more jobs are stored."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.fire.child import OnProgress
from benchmarks.fire.growth import Growth, Living, measure_size
from benchmarks.nodes.effort import Effort
from benchmarks.nodes.server import Server


def measure_growth(effort: Effort, server: Server, on_step: Callable[[str], OnProgress]) -> Growth:
    """Each size in a schema and in processes of its own."""
    sizes = []
    living = Living(effort.fired, effort.idle, server.process, server.tidy)
    for stored in effort.stored:
        with server.schema(f"growth_{stored}") as url:
            sizes.append(measure_size(url, stored, living, on_step))
    return Growth(tuple(sizes))
