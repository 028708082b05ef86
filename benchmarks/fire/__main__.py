"""The command line: `python -m benchmarks.fire`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from benchmarks.fire.child import REPOSITORY, OnProgress
from benchmarks.fire.contender import CONTENDERS, OURS, race_in_turns
from benchmarks.fire.effort import EFFORTS, FULL, MILLION, Effort
from benchmarks.fire.equilibrium import Equilibrium, measure_equilibrium, store_of
from benchmarks.fire.growth import measure_growth
from benchmarks.fire.lateness import measure_lateness
from benchmarks.fire.progress import shown
from benchmarks.fire.report import Report, to_json
from benchmarks.fire.store import measure_store
from benchmarks.fire.tables import print_report

_DEFAULT = Path("docs/assets/bench-fire.json")


def main() -> None:
    """Measure, print, and keep the result."""
    options = _parse_options()
    effort = EFFORTS[options.effort]
    effort = replace(effort, jobs=options.jobs or effort.jobs, rounds=options.rounds or effort.rounds)
    report = _measure(effort, with_peers=not options.ours)
    print_report(report)
    path = options.json or (REPOSITORY / _DEFAULT if effort in (FULL, MILLION) and not options.ours else None)
    if path:
        _keep(report, path)


def _parse_options() -> Namespace:
    parser = ArgumentParser(
        prog="python -m benchmarks.fire", description="How fast jobs fire: Foliot and its peers."
    )
    effort = parser.add_mutually_exclusive_group()
    effort.set_defaults(effort="full")
    for name, words in (
        ("million", "a million jobs, one round; some ten minutes"),
        ("quick", "under a minute; keeps nothing unless --json is given"),
        ("tiny", "a few jobs, to see that the benchmark works"),
    ):
        effort.add_argument(f"--{name}", dest="effort", action="store_const", const=name, help=words)
    parser.add_argument("--ours", action="store_true", help="only us, no peers")
    parser.add_argument("--jobs", type=int, help="how many jobs race for us, such as 10000")
    parser.add_argument("--rounds", type=int, help="how often each contender races")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="PATH",
        help=f"where to keep the JSON, and beside it the chart as .svg (default: {_DEFAULT})",
    )
    return parser.parse_args()


def _measure(effort: Effort, *, with_peers: bool) -> Report:
    contenders = CONTENDERS if with_peers else (OURS,)
    steps = effort.rounds * (len(contenders) + 1) + 3 + 2 * len(effort.stored)
    with shown(steps) as progress:
        return Report(
            effort=effort,
            race=race_in_turns(effort, progress.begin, contenders),
            store=measure_store(effort.runs, progress.begin(f"store, {effort.runs:,} runs")),
            lateness=measure_lateness(effort, progress.begin),
            growth=measure_growth(effort, progress.begin),
            equilibrium=_in_equilibrium(effort, progress.begin("full histories")),
        )


def _in_equilibrium(effort: Effort, on_progress: OnProgress) -> Equilibrium:
    with store_of("sqlite") as open_store:
        return measure_equilibrium(open_store, effort.steady, 2, on_progress)


def _keep(report: Report, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(to_json(report), ensure_ascii=False) + "\n", encoding="utf-8")
    try:
        from benchmarks.fire.chart import draw_chart  # noqa: PLC0415 - only `make bench` has matplotlib
    except ModuleNotFoundError as error:
        _tell(f"kept {path.name}, and drew no chart: {error}")
        return
    draw_chart(list(report.race.values()), path.with_suffix(".svg"))
    _tell(f"kept {path.name} and {path.with_suffix('.svg').name}")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
