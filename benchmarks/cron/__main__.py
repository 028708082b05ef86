"""The command line: `python -m benchmarks.cron`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.cron.chart import draw_chart
from benchmarks.cron.compare import compare_next_times, compare_runs, rules
from benchmarks.cron.herd import measure_herd
from benchmarks.cron.measure import FULL, QUICK, Effort
from benchmarks.cron.report import Report, to_json
from benchmarks.cron.tables import print_report

_REPOSITORY = Path(__file__).parents[2]
_DEFAULT = Path("docs/assets/bench-cron.json")


def main() -> None:
    """Measure, print, and keep the result."""
    options = _parse_options()
    report = _measure(QUICK if options.quick else FULL)
    print_report(report)
    path = options.json or (None if options.quick else _REPOSITORY / _DEFAULT)
    if path:
        _keep(report, path)


def _parse_options() -> Namespace:
    parser = ArgumentParser(
        prog="python -m benchmarks.cron", description="Foliot and its peers, side by side."
    )
    parser.add_argument(
        "--quick", action="store_true", help="a few seconds; keeps nothing unless --json is given"
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="PATH",
        help=f"where to keep the JSON, and beside it the chart as .svg (default: {_DEFAULT})",
    )
    return parser.parse_args()


def _measure(effort: Effort) -> Report:
    next_times, runs = [], []
    for expression, zone in rules():
        _tell(f"next time  {expression:20} {zone}")
        next_times.append(compare_next_times(expression, zone, effort))
    for expression, zone in rules():
        _tell(f"run        {expression:20} {zone}")
        runs.append(compare_runs(expression, zone, effort))
    _tell(f"herd       {effort.jobs:,} jobs")
    return Report(effort=effort, next_times=next_times, runs=runs, herd=measure_herd(effort))


def _tell(text: str) -> None:
    # A line now and then: a progress bar would draw itself from a thread, in somebody's time.
    print(text, file=sys.stderr, flush=True)


def _keep(report: Report, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(to_json(report), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    draw_chart(report.next_times, path.with_suffix(".svg"))
    _tell(f"kept {path.name} and {path.with_suffix('.svg').name}")


if __name__ == "__main__":
    main()
