"""The API beside an engine: how late jobs start without clients, and with them, as JSON.

So many jobs a minute on SQLite, in turns: without a client, with requests of mixed kinds, and with slow
clients, event streams and large bodies, too. A quarter of the requests ask for a run. Without clients the
engine has as many runs more of its own: the figures differ by what the API costs, not by what is to be run.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from statistics import median
from typing import Any

from benchmarks.api.clients import KINDS_OF_QUESTIONS, Crowd
from benchmarks.api.engine import measure

ASKING = Crowd(rate=50)
HOSTILE = Crowd(rate=50, slow=20, streams=300, large=3)
FIGURES = ("p50", "p99", "most")


async def compare(
    jobs: int, seconds: float, asking: Crowd, hostile: Crowd, rounds: int = 1
) -> dict[str, Any]:
    """Measure without clients, with those that ask, and with hostile ones; how much later jobs start.

    The order changes with each round, and the medians of the rounds are compared.
    """
    alone = Crowd(runs_without_asking=asking.rate / KINDS_OF_QUESTIONS)
    crowds = {"alone": alone, "asking": asking, "hostile": hostile}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in crowds}
    for turn in range(rounds):
        for name in sorted(crowds, reverse=bool(turn % 2)):
            found[name].append(await measure(jobs, seconds, crowds[name]))
    late = {
        name: {which: median(one[f"late_{which}_ms"] for one in ones) for which in FIGURES}
        for name, ones in found.items()
    }
    ratios = {
        name: {
            f"late_{which}": round(late[name][which] / max(0.1, late["alone"][which]), 2) for which in FIGURES
        }
        for name in ("asking", "hostile")
    }
    last = {name: ones[-1] for name, ones in found.items()}
    return {
        "jobs_a_minute": jobs, "seconds": seconds, "rounds": rounds, **last, "late_ms": late, "ratio": ratios,
    }  # fmt: skip


def main() -> None:
    """Measure, and tell as JSON."""
    parser = ArgumentParser(prog="python -m benchmarks.api", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000, help="how many jobs start in a minute")
    parser.add_argument("--seconds", type=float, default=60, help="for how long, each time")
    parser.add_argument("--rounds", type=int, default=3, help="how often; medians are compared")
    given = parser.parse_args()
    found = asyncio.run(compare(given.jobs, given.seconds, ASKING, HOSTILE, given.rounds))
    json.dump(found, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
