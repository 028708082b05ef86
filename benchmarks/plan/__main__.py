"""The command line: `python -m benchmarks.plan`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.cron.herd import measure_herd
from benchmarks.cron.measure import FULL, QUICK
from benchmarks.plan.codec import measure_codec
from benchmarks.plan.decisions import measure_decisions
from benchmarks.plan.report import Report, to_json
from benchmarks.plan.tables import print_report

_REPOSITORY = Path(__file__).parents[2]
_DEFAULT = Path("docs/assets/bench-plan.json")
_JOBS = 10_000
_JOBS_IF_QUICK = 1_000


def main() -> None:
    """Measure, print, and keep the result."""
    options = _parse_options()
    report = _measure(is_quick=options.quick)
    print_report(report)
    path = options.json or (None if options.quick else _REPOSITORY / _DEFAULT)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(to_json(report), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        _tell(f"kept {path.name}")


def _parse_options() -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.plan", description="How fast the planner decides.")
    parser.add_argument(
        "--quick", action="store_true", help="a few seconds; keeps nothing unless --json is given"
    )
    parser.add_argument(
        "--json", type=Path, metavar="PATH", help=f"where to keep the JSON (default: {_DEFAULT})"
    )
    return parser.parse_args()


def _measure(*, is_quick: bool) -> Report:
    effort, jobs = (QUICK, _JOBS_IF_QUICK) if is_quick else (FULL, _JOBS)
    _tell(f"decisions  {jobs:,} jobs, {effort.rounds} rounds")
    decisions = measure_decisions(jobs, effort.rounds)
    _tell(f"codec      {jobs:,} jobs, {effort.rounds} rounds")
    codec = measure_codec(jobs, effort.rounds)
    _tell(f"herd       {effort.jobs:,} jobs, {effort.rounds} rounds")
    herd = measure_herd(effort)
    return Report(
        is_quick=is_quick, rounds=effort.rounds, jobs=jobs, herd=herd, decisions=decisions, codec=codec
    )


def _tell(text: str) -> None:
    # A line now and then: a progress bar would draw itself from a thread, in somebody's time.
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
