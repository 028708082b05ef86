"""The command line: `python -m benchmarks.shell`."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from benchmarks.shell.contender import CONTENDERS, burst
from benchmarks.shell.page import FIGURES, PAGE, page, print_figures
from benchmarks.shell.report import Report, to_json

_ROUNDS = 40  # short ones: neighbours then meet the same machine
_COMMANDS = 256
_BURST = 200


def main() -> None:
    """Measure, print, and keep the result."""
    options = _parse_options()
    figures = to_json(_measure(is_quick=options.quick))
    print_figures(figures)
    path = options.json or (None if options.quick else FIGURES)
    if path:
        path.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if path == FIGURES:
        PAGE.write_text(page())


def _parse_options() -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.shell", description="How fast commands are started.")
    parser.add_argument(
        "--quick", action="store_true", help="a few seconds; keeps nothing unless --json is given"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="where to keep the JSON")
    return parser.parse_args()


def _measure(*, is_quick: bool) -> Report:
    rounds, commands = (1, 64) if is_quick else (_ROUNDS, _COMMANDS)
    seconds: dict[str, list[float]] = {contender.name: [] for contender in CONTENDERS}
    for number in range(rounds):
        _tell(f"round {number + 1} of {rounds}, {commands} commands each")
        for contender in CONTENDERS:
            seconds[contender.name].append(contender.race(commands))
    _tell(f"burst, {_BURST} commands")
    return Report(is_quick=is_quick, commands=commands, seconds=seconds, starts=burst(_BURST))


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
