"""How long the pages of the dashboard take, at the 95th percentile, against their budgets; as JSON.

    python -m benchmarks.pages                              twenty thousand jobs on SQLite
    python -m benchmarks.pages --jobs 1000000 --runs 100000 --output pages.json
    python -m benchmarks.pages --store postgresql://…/empty

It needs the packages of the group `dev`; the first visit is measured in a Chromium, if there is one.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.pages.browser import visit
from benchmarks.pages.furnish import furnish
from benchmarks.pages.measure import measure
from foliot.api.backend import LEASE
from foliot.clock import SystemClock
from foliot.wiring import open_store


async def bench(url: str, jobs: int, runs: int, repeats: int) -> dict[str, Any]:
    """Furnish a store, and measure all pages."""
    async with open_store(url, SystemClock(), lease=LEASE) as store:
        await furnish(store, jobs, runs)
    pages = await measure(url, repeats)
    first = await visit(url)
    return {"jobs": jobs, "runs": runs, "store": url.partition(":")[0], "pages": pages, "first_visit": first}


def main() -> None:
    """Measure, and tell as JSON."""
    parser = ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--store", help="an empty store; without one, a new file of SQLite")
    parser.add_argument("--output", type=Path, help="a file, instead of stdout")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        url = given.store or f"sqlite:///{folder}/jobs.db"
        found = asyncio.run(bench(url, given.jobs, given.runs, given.repeats))
    text = json.dumps(found, indent=2) + "\n"
    if given.output is None:
        sys.stdout.write(text)
    else:
        given.output.write_text(text)


if __name__ == "__main__":
    main()
