"""Put the figures of the last `make bench` or `make million` into docs/explanation/fire.md."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/explanation/fire.md"
FIGURES = ROOT / "docs/assets/bench-fire.json"
_TABLES = re.compile(r"(<!-- figures -->\n).*(<!-- end of figures -->)", re.DOTALL)
_MET = {True: "yes", False: "**no**", None: "not measured"}


def tables(figures: dict[str, Any]) -> str:
    """The figures as text: goals, race, store and lateness, growth."""
    return "\n".join(
        [
            "",
            _where(figures["environment"]),
            "",
            *_table("goal | what | met | seen", _goals(figures["goals"])),
            "**Race**, medians; seconds are counted from the second at which all jobs are due:",
            "",
            *_table(
                "scheduler | jobs | first start | last start | all recorded | runs/s | Foliot is",
                _race(figures["race"]),
            ),
            "What each of them records, and how it was used:",
            "",
            *(f"- **{name}** {_told(seen)}" for name, seen in figures["race"].items()),
            "",
            *_store_and_lateness(figures["store"], figures["lateness"]),
            "**Growth**: a fresh process, while so many jobs are stored that are not due:",
            "",
            *_table(
                "stored | first start, s | resident, MB | idle, CPU s a minute | fired, CPU µs a run",
                _growth(figures["growth"]["sizes"]),
            ),
        ]
    )


def _where(environment: dict[str, Any]) -> str:
    return (
        f"Measured with Python {environment['python']} and SQLite {environment['sqlite']} on"
        f" {environment['cores']} cores ({environment['system']}, {environment['machine']})."
    )


def _table(header: str, rows: list[list[str]]) -> list[str]:
    columns = header.count("|") + 1
    return [f"| {header} |", "|" + "---|" * columns, *(f"| {' | '.join(row)} |" for row in rows), ""]


def _goals(goals: dict[str, Any]) -> list[list[str]]:
    return [[name, goal["goal"], _MET[goal["met"]], goal["seen"]] for name, goal in goals.items()]


def _race(race: dict[str, Any]) -> list[list[str]]:
    return [
        [
            name,
            f"{seen['jobs']:,}",
            *(f"{seen[field]:.2f}" for field in ("first_start", "last_start", "recorded")),
            f"{seen['runs_per_second']:,}",
            "" if name == "Foliot" else f"{seen['ratio']:.1f}×",
        ]
        for name, seen in race.items()
        if "missing" not in seen
    ]


def _told(seen: dict[str, Any]) -> str:
    if "missing" in seen:
        return f"was not measured: {seen['missing']}."
    return f"{seen['version']}: {seen['use']}. Records: {seen['records']}."


def _store_and_lateness(store: dict[str, Any], late: dict[str, Any]) -> list[str]:
    first, after, p50, p99 = (late[name] * 1e3 for name in ("first", "last_after_first", "p50", "p99"))
    stored = (
        f"**Store**: {store['store']:,.0f} runs a second are claimed and finished through the store,"
        f" {store['bare']:,.0f} by the bare loop: {store['ratio']:.0%}."
    )
    lateness = (
        f"**Lateness**: of {late['herd']:,} jobs at once the first starts {first:.0f} ms late and the last"
        f" {after:.0f} ms after it. A job every second is {p50:.1f} ms late (median of {late['singles']}),"
        f" {p99:.1f} ms at p99."
    )
    return [stored, "", lateness, ""]


def _growth(sizes: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            f"{size['stored']:,}",
            f"{size['first_start']:.2f}",
            f"{size['resident'] / 1e6:.1f}",
            f"{size['idle_cpu_per_minute']:.2f}",
            f"{size['cpu_per_run'] * 1e6:.0f}",
        ]
        for size in sizes
    ]


def page() -> str:
    """The whole page, with the figures of the last run."""
    text = tables(json.loads(FIGURES.read_text()))
    return _TABLES.sub(lambda found: found[1] + text + found[2], PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.exit(0)
