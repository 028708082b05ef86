"""Put the figures of the last `make bench` or `make million` into docs/explanation/nodes.md."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/explanation/nodes.md"
FIGURES = ROOT / "docs/assets/bench-nodes.json"
_TABLES = re.compile(r"(<!-- figures -->\n).*(<!-- end of figures -->)", re.DOTALL)
_MET = {True: "yes", False: "**no**", None: "not measured"}
_MOST_WAITS = 4


def tables(figures: dict[str, Any]) -> str:
    """The figures as text: goals, races, store, growth."""
    races = [*figures["race"], *([figures["million"]] if figures["million"] else [])]
    return "\n".join(
        [
            "",
            _where(figures["environment"]),
            "",
            *_table("goal | what | met | seen", _goals(figures["goals"])),
            "**Race**: seconds are counted from the second at which all jobs are due; cores are busy ones:",
            "",
            *_table(
                "nodes | jobs | first start | median | last | all recorded | starts/s"
                " | nodes' cores | server's | others'",
                [_race(race) for race in races],
            ),
            "What kept each of them from being quicker, and what connections in a transaction were doing:",
            "",
            *map(_limit, races),
            "",
            "**Store**: runs that are claimed and finished in a second:",
            "",
            *_table("store | batch | bare loop | through the store | part", _store(figures["store"])),
            "**Growth**: a fresh node, while so many jobs are stored that are not due:",
            "",
            *_table(
                "stored | first start, s | idle, CPU s a minute | and the server"
                " | fired, CPU µs a run | and the server",
                [_size(size) for size in figures["growth"]["sizes"]],
            ),
        ]
    )


def _where(environment: dict[str, Any]) -> str:
    return (
        f"Measured with Python {environment['python']}, PostgreSQL {environment['postgresql']} and psycopg"
        f" {environment['psycopg']} on {environment['cores']} cores ({environment['system']},"
        f" {environment['machine']})."
    )


def _table(header: str, rows: list[list[str]]) -> list[str]:
    columns = header.count("|") + 1
    return [f"| {header} |", "|" + "---|" * columns, *(f"| {' | '.join(row)} |" for row in rows), ""]


def _goals(goals: dict[str, Any]) -> list[list[str]]:
    return [[name, goal["goal"], _MET[goal["met"]], goal["seen"]] for name, goal in goals.items()]


def _race(race: dict[str, Any]) -> list[str]:
    return [
        str(race["nodes"]),
        f"{race['jobs']:,}",
        *(f"{race[name]:.2f}" for name in ("first", "median", "last", "recorded")),
        f"{race['starts_per_second']:,}",
        *(f"{race['cores'][name]:.2f}" for name in ("nodes", "server", "others")),
    ]


def _limit(race: dict[str, Any]) -> str:
    waits, total = list(race["waits"].items()), sum(race["waits"].values())
    seen = ", ".join(f"{name} {count / total:.0%}" for name, count in waits[:_MOST_WAITS])
    nodes = "1 node" if race["nodes"] == 1 else f"{race['nodes']} nodes"
    return f"- {nodes}, {race['jobs']:,} jobs: **{race['limit']}**; {seen or 'nothing was seen'}."


def _store(store: dict[str, Any]) -> list[list[str]]:
    return [
        [
            name,
            f"{speed['batch']:,}",
            f"{speed['bare']:,.0f}",
            f"{speed['store']:,.0f}",
            f"{speed['ratio']:.0%}",
        ]
        for name, speeds in store.items()
        for speed in speeds
    ]


def _size(size: dict[str, Any]) -> list[str]:
    return [
        f"{size['stored']:,}",
        f"{size['first_start']:.2f}",
        f"{size['idle_cpu_per_minute']:.2f}",
        f"{size['server_idle_per_minute']:.2f}",
        f"{size['cpu_per_run'] * 1e6:.0f}",
        f"{size['server_per_run'] * 1e6:.0f}",
    ]


def page() -> str:
    """The whole page, with the figures of the last run."""
    text = tables(json.loads(FIGURES.read_text()))
    return _TABLES.sub(lambda found: found[1] + text + found[2], PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.exit(0)
