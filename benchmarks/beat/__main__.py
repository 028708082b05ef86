"""Measure, and tell as JSON; into a file, if one is named."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from benchmarks.beat.ours import all_due, none_due
from benchmarks.beat.parts import measure_parts
from benchmarks.beat.peers import measure_celery_beat, measure_redbeat
from foliot.testing.servers import redis_server

_SIZES = (100, 1000, 10_000)
_GOALS = {100: 10.0}  # milliseconds for a turn with so many due; the queue takes no time


async def measure(
    sizes: tuple[int, ...], *, times: int = 500, seconds: int = 10, fsync: str = "everysec"
) -> dict[str, Any]:
    """All figures, on one server for everybody."""
    with redis_server(fsync=fsync) as server:
        found: dict[str, Any] = {"parts_us": await measure_parts(server.url, times), "turns": {}}
        for count in sizes:
            every = 5 if count <= 1000 else 20  # noqa: PLR2004 - seconds, in which all must be enqueued
            rounds = 3 if count > 1000 else 5  # noqa: PLR2004 - as above
            ours = await none_due(server.url, count, seconds), await all_due(server.url, count, every, rounds)
            redbeat = await asyncio.to_thread(measure_redbeat, server.url, count)
            celery = await asyncio.to_thread(measure_celery_beat, server.url, count)
            found["turns"][str(count)] = {
                "foliot": {"none_due": ours[0], "all_due": ours[1]},
                "redbeat": redbeat,
                "celery_beat": celery,
                "time_of_redbeat": round(ours[1]["ms"] / redbeat["all_due_ms"], 2),
                "time_of_celery_beat": round(ours[1]["ms"] / celery["all_due_ms"], 2),
                "cpu_of_redbeat": round(ours[1]["cpu_us_each"] / redbeat["all_due_cpu_us_each"], 2),
            }
            if goal := _GOALS.get(count):
                met = {
                    "goal_ms": goal,
                    "is_met": ours[1]["ms"] <= goal,
                    "is_met_at_best": ours[1]["best_ms"] <= goal,
                }
                found["turns"][str(count)]["foliot"]["goal"] = met
    return found


def main() -> None:
    """Measure."""
    parser = ArgumentParser(prog="python -m benchmarks.beat", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=_SIZES, help="how many schedules")
    parser.add_argument("--output", type=Path, help="where the JSON goes; stdout otherwise")
    parser.add_argument("--fsync", default="everysec", help="of the server: always, everysec or off")
    given = parser.parse_args()
    text = json.dumps(asyncio.run(measure(tuple(given.sizes), fsync=given.fsync)), indent=2) + "\n"
    if given.output is None:
        sys.stdout.write(text)
    else:
        given.output.write_text(text)


if __name__ == "__main__":
    main()
