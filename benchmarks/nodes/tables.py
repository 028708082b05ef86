"""The report as tables for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks.fire.tables import YES_NO, new_table
from benchmarks.nodes.effort import FULL, MILLION
from benchmarks.nodes.race import Race, counted
from benchmarks.nodes.report import Report, limit_of

_WIDTH = 130


def print_report(report: Report) -> None:
    """Print all tables to stdout."""
    console = Console(width=_WIDTH, highlight=False)
    for table in (_store(report), _races(report), _growth(report)):
        console.print(table)
    for race in _all_races(report):
        console.print(f"{counted(race.nodes)}, {race.jobs:,} jobs: {limit_of(race)}. {waits_of(race.waits)}")
    console.print()
    for name, goal in report.goals.items():
        console.print(f"{name}: {goal.words}: {YES_NO[goal.is_met]} ({goal.seen})", soft_wrap=True)
    if report.effort not in (FULL, MILLION):
        console.print("This was a short run: it shows that the benchmark works, not how fast anything is.")


def waits_of(waits: dict[str, int]) -> str:
    """What connections in a transaction did, most frequent first."""
    total = sum(waits.values())
    if not total:
        return "No connection was seen at work."
    seen = ", ".join(f"{name} {count / total:.0%}" for name, count in list(waits.items())[:5])
    return f"Connections in a transaction: {seen}."


def _store(report: Report) -> Table:
    table = new_table(
        "Store: claim and finish, runs a second",
        ["store"],
        ["batch", "bare loop", "through the store", "part"],
    )
    for name, speeds in report.store.items():
        for speed in speeds:
            table.add_row(
                name, f"{speed.batch:,}", f"{speed.bare:,.0f}", f"{speed.store:,.0f}", f"{speed.ratio:.0%}"
            )
    return table


def _races(report: Report) -> Table:
    table = new_table(
        "Race: no-op jobs, all due at once; seconds after they were due, and cores that were busy",
        ["nodes"],
        ["jobs", "first", "median", "last", "recorded", "starts/s", "nodes' cores", "server's", "others'"],
    )
    for race in _all_races(report):
        table.add_row(
            str(race.nodes),
            f"{race.jobs:,}",
            *(f"{seconds:.2f}" for seconds in (race.first, race.median, race.last, race.recorded)),
            f"{race.starts_per_second:,.0f}",
            *(f"{count:.2f}" for count in race.cores),
        )
    return table


def _all_races(report: Report) -> list[Race]:
    return [*report.race.values(), *([report.million] if report.million else [])]


def _growth(report: Report) -> Table:
    table = new_table(
        "Growth: a node with stored jobs that are not due",
        ["stored"],
        ["first start, s", "idle, CPU s a minute", "and the server", "fired, CPU µs a run", "and the server"],
    )
    for size in report.growth.sizes:
        table.add_row(
            f"{size.stored:,}",
            f"{size.first_start:.2f}",
            f"{size.idle_cpu_per_minute:.2f}",
            f"{size.server_idle_per_minute:.2f}",
            f"{size.cpu_per_run * 1e6:.0f}",
            f"{size.server_per_run * 1e6:.0f}",
        )
    return table
