"""The figures as tables: for a terminal, and for docs/explanation/processes.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs/explanation/processes.md"
FIGURES = REPOSITORY / "docs/assets/bench-shell.json"
_FIGURES = re.compile(r"(<!-- figures -->\n).*(<!-- end of figures -->)", re.DOTALL)
_MET = {True: "yes", False: "**no**"}
_HEADER = ("started by", "how", "commands/s", "slowest", "fastest", "of the bare loop")


def print_figures(figures: dict[str, Any]) -> None:
    """Print the tables to stdout."""
    console = Console(width=150, highlight=False)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in _HEADER:
        table.add_column(column, no_wrap=True)
    for row in _race(figures):
        table.add_row(*row)
    console.print(table)
    console.print(_burst(figures))
    for name, goal in figures["goals"].items():
        console.print(f"{name} {goal['goal']}: {'yes' if goal['met'] else 'NO'} ({goal['seen']})")


def page() -> str:
    """The whole page, with the figures of the last run."""
    figures = json.loads(FIGURES.read_text())
    text = "\n".join(["", *_lines(figures), ""])
    return _FIGURES.sub(lambda found: found[1] + text + found[2], PAGE.read_text())


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    environment, settings = figures["environment"], figures["settings"]
    yield (
        f"Measured with Python {environment['python']} on {environment['cores']} cores"
        f" ({environment['system']}, {environment['machine']}): `sh -c true`,"
        f" {settings['at_once']} at a time, {settings['rounds']} rounds of {settings['commands']:,} in turns,"
        f" medians."
    )
    yield ""
    yield from _markdown(
        ("goal", "what", "met", "seen"),
        [[name, goal["goal"], _MET[goal["met"]], goal["seen"]] for name, goal in figures["goals"].items()],
    )
    yield from _markdown(_HEADER, _race(figures))
    yield _burst(figures)


def _race(figures: dict[str, Any]) -> list[list[str]]:
    rates = ("per_second", "slowest", "fastest")
    return [
        [name, seen["words"], *(f"{seen[rate]:,}" for rate in rates), f"{seen['ratio']:.0%}"]
        for name, seen in figures["race"].items()
    ]


def _burst(figures: dict[str, Any]) -> str:
    burst = figures["burst"]
    return (
        f"Of {burst['commands']} commands that are ordered at once, the first has started after"
        f" {burst['first_ms']} ms (its warden had to be started before it), the median after"
        f" {burst['median_ms']} ms, the last after {burst['last_ms']} ms."
    )


def _markdown(header: tuple[str, ...], rows: list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
