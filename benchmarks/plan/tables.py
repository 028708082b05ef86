"""The report as tables for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.cron.measure import Timing
from benchmarks.plan.decisions import HAPPY
from benchmarks.plan.report import HAPPY_PATH, P2, Report

_WIDTH = 120


def print_report(report: Report) -> None:
    """Print all tables to stdout."""
    console = Console(width=_WIDTH, highlight=False)
    console.print(_herd(report))
    console.print(_decisions(report))
    console.print(_codec(report))
    console.print()
    happy = f"{report.happy_path * 1e6:.2f} µs"
    console.print(
        f"P2 {P2}: {_yes_no(is_met=report.herd.meets_goal)} ({_times(report.herd.shared, 1e9)[0]} ns)"
    )
    console.print(f"Happy path: {HAPPY_PATH}: {_yes_no(is_met=report.meets_happy_path)} ({happy})")
    if report.is_quick:
        console.print("This was a quick run: it shows that the benchmark works, not how fast anything is.")


def _herd(report: Report) -> Table:
    herd = report.herd
    title = f"Herd: next times of {herd.jobs:,} jobs with {herd.rules:,} distinct rules"
    table = _table(title, ["jobs have"], ["ns per job", "fastest", "slowest"])
    table.add_row("the same rule objects", *_times(herd.shared, 1e9))
    table.add_row("equal objects of their own", *_times(herd.equal, 1e9))
    return table


def _decisions(report: Report) -> Table:
    title = f"Decisions: planner time, {report.jobs:,} distinct jobs with as many distinct rules"
    table = _table(title, ["decision", "what happens"], ["µs", "fastest", "slowest", "per second"])
    for name, (words, timing) in report.decisions.items():
        table.add_row(name, words, *_times(timing, 1e6), f"{1 / timing.median:,.0f}")
        if name == HAPPY[-1]:
            total = report.happy_path
            table.add_row("  both", "a run that goes well", f"{total * 1e6:.2f}", "", "", f"{1 / total:,.0f}")
            table.add_section()
    return table


def _codec(report: Report) -> Table:
    table = _table("Jobs as JSON text; one policy for all", ["what"], ["µs per job", "fastest", "slowest"])
    for name, timing in report.codec.items():
        table.add_row(name, *_times(timing, 1e6))
    return table


def _table(title: str, texts: Iterable[str], numbers: Iterable[str]) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for column in texts:
        table.add_column(column, no_wrap=True)
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _times(timing: Timing, per_second: float) -> list[str]:
    digits = 2 if per_second == 1e6 else 0  # noqa: PLR2004 - microseconds
    return [f"{s * per_second:.{digits}f}" for s in (timing.median, timing.fastest, timing.slowest)]


def _yes_no(*, is_met: bool) -> str:
    return "yes" if is_met else "NO"
