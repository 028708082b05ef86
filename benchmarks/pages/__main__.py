"""How long the pages of the dashboard take, at the 95th percentile, against their budgets; as JSON.

    python -m benchmarks.pages                              twenty thousand jobs on SQLite
    python -m benchmarks.pages --jobs 1000000 --runs 100000 --output pages.json
    python -m benchmarks.pages --store postgresql://…/empty
    python -m benchmarks.pages --store sqlite:////tmp/million.db --furnished     once more, on the same jobs

A table of all pages goes to stderr: the p95 of the wall clock and of the processor, and the budget.

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


async def bench(url: str, size: tuple[int, int] | None, repeats: int) -> dict[str, Any]:
    """Furnish a store with jobs and runs, if that is to be done, and measure all pages."""
    if size is not None:
        async with open_store(url, SystemClock(), lease=LEASE) as store:
            await furnish(store, *size)
    pages = await measure(url, repeats)
    first = await visit(url)
    jobs, runs = size or (None, None)
    return {"jobs": jobs, "runs": runs, "store": url.partition(":")[0], "pages": pages, "first_visit": first}


def table(pages: dict[str, Any]) -> str:
    """All pages, one on a line."""
    lines = [f"{'page':46}{'p95 ms':>9}{'processor':>11}{'budget':>8}"]
    for name, one in pages.items():
        mark = "" if one["is_within"] else "  over" if one["is_within_processor"] else "  OVER"
        lines.append(f"{name:46}{one['p95_ms']:>9}{one['p95_processor_ms']:>11}{one['budget_ms']:>8}{mark}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and tell as JSON."""
    parser = ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--store", help="an empty store; without one, a new file of SQLite")
    parser.add_argument("--furnished", action="store_true", help="the store has its jobs already")
    parser.add_argument("--output", type=Path, help="a file, instead of stdout")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        url = given.store or f"sqlite:///{folder}/jobs.db"
        size = None if given.furnished else (given.jobs, given.runs)
        found = asyncio.run(bench(url, size, given.repeats))
    sys.stderr.write(table(found["pages"]))
    text = json.dumps(found, indent=2) + "\n"
    if given.output is None:
        sys.stdout.write(text)
    else:
        given.output.write_text(text)


if __name__ == "__main__":
    main()
