"""The API beside an engine: how late jobs start without clients, and with them, as JSON.

So many jobs a minute on SQLite, three times: without a client, with requests of mixed kinds, and with slow
clients, event streams and large bodies, too.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from typing import Any

from benchmarks.api.clients import Crowd
from benchmarks.api.engine import measure

ASKING = Crowd(rate=50)
HOSTILE = Crowd(rate=50, slow=20, streams=300, large=3)


async def compare(jobs: int, seconds: float, asking: Crowd, hostile: Crowd) -> dict[str, Any]:
    """Measure without clients, with those that ask, and with hostile ones; how much later jobs start."""
    alone = await measure(jobs, seconds, Crowd())
    found = {"asking": await measure(jobs, seconds, asking), "hostile": await measure(jobs, seconds, hostile)}
    ratios = {
        name: {
            f"late_{which}": round(one[f"late_{which}_ms"] / max(0.1, alone[f"late_{which}_ms"]), 2)
            for which in ("p50", "p99", "most")
        }
        for name, one in found.items()
    }
    return {"jobs_a_minute": jobs, "seconds": seconds, "alone": alone, **found, "ratio": ratios}


def main() -> None:
    """Measure, and tell as JSON."""
    parser = ArgumentParser(prog="python -m benchmarks.api", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000, help="how many jobs start in a minute")
    parser.add_argument("--seconds", type=float, default=60, help="for how long, each time")
    given = parser.parse_args()
    json.dump(asyncio.run(compare(given.jobs, given.seconds, ASKING, HOSTILE)), sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
