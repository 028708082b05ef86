"""The report as tables for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.fire.contender import OURS
from benchmarks.fire.effort import FULL, MILLION
from benchmarks.fire.report import Report

_WIDTH = 120
YES_NO = {True: "yes", False: "NO", None: "not measured"}


def print_report(report: Report) -> None:
    """Print all tables to stdout."""
    console = Console(width=_WIDTH, highlight=False)
    for table in (_race(report), _store(report), _lateness(report), _growth(report)):
        console.print(table)
    for standing in report.race.values():
        told = standing.contender
        console.print(f"{told.name}: {told.use}.\n  records: {told.records}", soft_wrap=True)
        if standing.missing:
            console.print(f"  not measured: {standing.missing}", soft_wrap=True)
    console.print()
    for number, goal in report.goals.items():
        console.print(f"{number} {goal.words}: {YES_NO[goal.is_met]} ({goal.seen})", soft_wrap=True)
    if report.effort not in (FULL, MILLION):
        console.print("This was a short run: it shows that the benchmark works, not how fast anything is.")


def _race(report: Report) -> Table:
    title = "Race: no-op jobs, all due at once, SQLite with synchronous=FULL; seconds after they were due"
    table = new_table(
        title,
        ["contender"],
        ["jobs", "first start", "last start", "all recorded", "starts/s", "runs/s", "Foliot is"],
    )
    for name, standing in report.race.items():
        ratio = report.ratio(name)
        if ratio is None:
            table.add_row(name, "not measured")
            continue
        table.add_row(
            name,
            f"{standing.jobs:,}",
            *(f"{standing.median(field):.3f}" for field in ("first_start", "last_start", "recorded")),
            f"{standing.starts_per_second:,.0f}",
            f"{standing.runs_per_second:,.0f}",
            "" if name == OURS.name else f"{ratio:.1f}×",
        )
    return table


def _store(report: Report) -> Table:
    speed = report.store
    table = new_table(f"Store: claim and finish of {speed.runs:,} runs, in thousands", ["how"], ["runs/s"])
    table.add_row("bare sqlite3, the same rows", f"{speed.bare:,.0f}")
    table.add_row(f"through the store ({speed.ratio:.0%})", f"{speed.store:,.0f}")
    return table


def _lateness(report: Report) -> Table:
    late = report.lateness
    table = new_table("Lateness, in milliseconds", ["what"], ["ms"])
    for words, seconds in (
        (f"{late.herd:,} at once: first start", late.first),
        (f"{late.herd:,} at once: last start after the first", late.last_after_first),
        (f"one every second, {late.singles} times: median", late.p50),
        (f"one every second, {late.singles} times: p99", late.p99),
    ):
        table.add_row(words, f"{seconds * 1e3:.1f}")
    return table


def _growth(report: Report) -> Table:
    table = new_table(
        "Growth: a fresh process with stored jobs that are not due",
        ["stored"],
        ["first start, s", "resident, MB", "idle, CPU s a minute", "fired, CPU µs a run"],
    )
    for size in report.growth.sizes:
        table.add_row(
            f"{size.stored:,}",
            f"{size.first_start:.2f}",
            f"{size.resident / 1e6:.1f}",
            f"{size.idle_cpu_per_minute:.2f}",
            f"{size.cpu_per_run * 1e6:.0f}",
        )
    return table


def new_table(title: str, texts: Iterable[str], numbers: Iterable[str]) -> Table:
    """A table with columns of texts, and then columns of numbers."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for column in texts:
        table.add_column(column, no_wrap=True)
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table
