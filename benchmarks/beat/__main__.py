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


async def measure(sizes: tuple[int, ...], *, times: int = 500, seconds: int = 10) -> dict[str, Any]:
    """All figures. The server writes to its disk before it answers, for everybody."""
    with redis_server() as server:
        found: dict[str, Any] = {"parts_us": await measure_parts(server.url, times), "turns": {}}
        for count in sizes:
            every = 5 if count <= 1000 else 20  # noqa: PLR2004 - seconds, in which all must be enqueued
            ours = await none_due(server.url, count, seconds), await all_due(server.url, count, every)
            redbeat = await asyncio.to_thread(measure_redbeat, server.url, count)
            celery = await asyncio.to_thread(measure_celery_beat, server.url, count)
            found["turns"][str(count)] = {
                "foliot": {"none_due": ours[0], "all_due": ours[1]},
                "redbeat": redbeat,
                "celery_beat": celery,
                "foliot_of_redbeat": round(ours[1]["ms"] / redbeat["all_due_ms"], 2),
                "foliot_of_celery_beat": round(ours[1]["ms"] / celery["all_due_ms"], 2),
            }
    return found


def main() -> None:
    """Measure."""
    parser = ArgumentParser(prog="python -m benchmarks.beat", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=_SIZES, help="how many schedules")
    parser.add_argument("--output", type=Path, help="where the JSON goes; stdout otherwise")
    given = parser.parse_args()
    text = json.dumps(asyncio.run(measure(tuple(given.sizes))), indent=2) + "\n"
    if given.output is None:
        sys.stdout.write(text)
    else:
        given.output.write_text(text)


if __name__ == "__main__":
    main()
