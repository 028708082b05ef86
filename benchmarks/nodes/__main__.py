"""The command line: `python -m benchmarks.nodes`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.fire.child import REPOSITORY
from benchmarks.fire.progress import Steps, shown
from benchmarks.nodes.effort import EFFORTS, FULL, MILLION, Effort
from benchmarks.nodes.growth import measure_growth
from benchmarks.nodes.race import Race, counted, measure_races, run_race
from benchmarks.nodes.report import Report, to_json
from benchmarks.nodes.server import Server, connected
from benchmarks.nodes.store import measure_stores
from benchmarks.nodes.tables import print_report
from foliot.testing.servers import MissingServerError, postgres_server

_DEFAULT = Path("docs/assets/bench-nodes.json")


def main() -> None:
    """Measure, print, and keep the result."""
    options = _parse_options()
    effort = EFFORTS[options.effort]
    try:
        report = _measure(effort)
    except MissingServerError as error:
        sys.exit(f"not measured: {error}")
    print_report(report)
    path = options.json or (REPOSITORY / _DEFAULT if effort in (FULL, MILLION) else None)
    if path:
        _keep(report, path)


def _parse_options() -> Namespace:
    parser = ArgumentParser(
        prog="python -m benchmarks.nodes", description="How fast jobs fire on nodes that share a PostgreSQL."
    )
    effort = parser.add_mutually_exclusive_group()
    effort.set_defaults(effort="full")
    for name, words in (
        ("million", "a million jobs, too; half an hour"),
        ("quick", "a minute; keeps nothing unless --json is given"),
        ("tiny", "a few jobs, to see that the benchmark works"),
    ):
        effort.add_argument(f"--{name}", dest="effort", action="store_const", const=name, help=words)
    parser.add_argument(
        "--json",
        type=Path,
        metavar="PATH",
        help=f"where to keep the JSON, and beside it the chart as .svg (default: {_DEFAULT})",
    )
    return parser.parse_args()


def _measure(effort: Effort) -> Report:
    steps = 2 * len(effort.batches) + effort.rounds * len(effort.nodes) + 2 * len(effort.stored)
    with (
        shown(steps + bool(effort.herd)) as progress,
        postgres_server() as brought,
        connected(brought.url) as server,
    ):
        store = measure_stores(server.url, effort, progress.begin)
        race = measure_races(effort, server, progress.begin)
        return Report(
            effort=effort,
            postgresql=server.version,
            store=store,
            race=race,
            growth=measure_growth(effort, server, progress.begin),
            million=_measure_million(effort, server, race, progress),
        )


def _measure_million(effort: Effort, server: Server, race: dict[int, Race], progress: Steps) -> Race | None:
    """With as many nodes as were the quickest."""
    if not effort.herd:
        return None
    best = max(race.values(), key=lambda race: race.starts_per_second)
    on_progress = progress.begin(f"race: {counted(best.nodes)}, {effort.herd:,} jobs")
    return run_race(server, best.nodes, effort.herd, on_progress, pace=best.pace)


def _keep(report: Report, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figures = to_json(report)
    path.write_text(json.dumps(figures, ensure_ascii=False) + "\n", encoding="utf-8")
    try:
        from benchmarks.nodes.chart import draw_chart  # noqa: PLC0415 - only `make bench` has matplotlib
    except ModuleNotFoundError as error:
        _tell(f"kept {path.name}, and drew no chart: {error}")
        return
    draw_chart(figures, path.with_suffix(".svg"))
    _tell(f"kept {path.name} and {path.with_suffix('.svg').name}")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
