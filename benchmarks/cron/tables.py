"""The report as tables for people."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.cron.compare import Cell
from benchmarks.cron.herd import Herd
from benchmarks.cron.measure import QUICK, Timing
from benchmarks.cron.peers import LIBRARIES, NAIVE_RIVAL, OURS, PEERS, RIVAL
from benchmarks.cron.report import P1, P2, Report

_WIDTH = 120
_NAMES = [library.name for library in LIBRARIES]
_WRONG = "†"
_TEN = 10  # from here on, decimals say nothing


def print_report(report: Report) -> None:
    """Print all tables to stdout."""
    console = Console(width=_WIDTH, highlight=False)
    for zone, cells in groupby(report.next_times, key=lambda cell: cell.zone):
        console.print(_times(f"Next time, µs per call (× ours), {zone}", cells, with_goal=True))
    console.print(_disagreements(report.next_times))
    for zone, cells in groupby(report.runs, key=lambda cell: cell.zone):
        console.print(_times(f"Run, µs per occurrence (× ours), {zone}", cells, with_goal=False))
    console.print(_herd(report.herd))
    _print_notes(console, report)
    _print_goals(console, report)


def _table(title: str, columns: Iterable[str]) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    first, *others = columns
    table.add_column(first, no_wrap=True)
    for column in others:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _times(title: str, cells: Iterable[Cell], *, with_goal: bool) -> Table:
    goal = ["≥ 2×"] if with_goal else []
    table = _table(title, ["expression", *(name.replace(", ", "\n") for name in _NAMES), *goal])
    for cell in cells:
        met = [_yes_no(is_met=cell.meets_goal)] if with_goal else []
        table.add_row(cell.expression, *(_time(cell, name) for name in _NAMES), *met)
    return table


def _time(cell: Cell, name: str) -> str:
    if name in cell.not_comparable:
        return "n/c"
    microseconds = _short(cell.timings[name].median * 1e6)
    if name == OURS.name:
        return microseconds
    # The naive answers name no instant at all; the notes say so, a mark in each row would only shout.
    mark = _WRONG if cell.wrong[name] and name != NAIVE_RIVAL.name else ""
    return f"{microseconds} ({_short(cell.ratio(name))}×){mark}"


def _short(number: float) -> str:
    return f"{number:.2f}" if number < _TEN else f"{number:.0f}"


def _disagreements(cells: Iterable[Cell]) -> Table:
    names = [peer.name for peer in PEERS]
    table = _table(
        "Answers unlike ours: in the sample / on days when the clocks are moved",
        ["expression", "zone", *names],
    )
    for cell in cells:
        table.add_row(cell.expression, cell.zone, *(_wrong(cell, name) for name in names))
    return table


def _wrong(cell: Cell, name: str) -> str:
    if name in cell.not_comparable:
        return "n/c"
    wrong = cell.wrong[name]
    return f"{wrong.sample} / {wrong.change_days if wrong.change_days_size else '-'}"


def _herd(herd: Herd) -> Table:
    table = _table(
        f"Herd: next times of {herd.jobs:,} jobs with {herd.rules:,} distinct rules",
        ["jobs have", "ns per job", "fastest", "slowest", "goal"],
    )
    table.add_row("the same rule objects", *_nanoseconds(herd.shared), _yes_no(is_met=herd.meets_goal))
    table.add_row("equal objects of their own", *_nanoseconds(herd.equal), "")
    return table


def _nanoseconds(timing: Timing) -> list[str]:
    return [f"{seconds * 1e9:.0f}" for seconds in (timing.median, timing.fastest, timing.slowest)]


def _print_notes(console: Console, report: Report) -> None:
    reasons = {reason for cell in report.next_times for reason in cell.not_comparable.values()}
    herd = report.herd
    console.print(f"{_WRONG} gives other answers than ours somewhere, see the disagreements")
    for reason in sorted(reasons):
        console.print(f"n/c not comparable: {reason}")
    console.print(f"{NAIVE_RIVAL.name}: {NAIVE_RIVAL.use}; the goal counts against {RIVAL.name}")
    console.print(
        f"The first call for the herd, which builds the tables of all rules, took "
        f"{herd.first_call * 1e3:.0f} ms; to build {herd.jobs:,} equal rules took {herd.build_equal:.1f} s.",
        soft_wrap=True,
    )


def _print_goals(console: Console, report: Report) -> None:
    console.print()
    cells = f"{report.cells_met} of {len(report.next_times)} cells"
    nanoseconds, *_ = _nanoseconds(report.herd.shared)
    console.print(f"P1 {P1}: {_yes_no(is_met=report.meets_p1)} ({cells})")
    console.print(f"P2 {P2}: {_yes_no(is_met=report.herd.meets_goal)} ({nanoseconds} ns)")
    if report.effort == QUICK:
        console.print("This was a quick run: it shows that the benchmark works, not how fast anything is.")


def _yes_no(*, is_met: bool) -> str:
    return "yes" if is_met else "NO"
