"""The chart: goal P1 as a dot plot on a log axis, one panel per zone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.cron.compare import Cell
from benchmarks.cron.measure import FULL
from benchmarks.cron.peers import OURS, RIVAL
from benchmarks.cron.sample import EXPRESSIONS, ZONES

_INK = "#222222"
_PALE = "#d9d9d9"
_BAND = "#f4f4f4"
_TICKS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200)
_SPAN = (0.27, 260)
_NOTE = (
    f"Rule parsed beforehand; aware datetime in and out; {FULL.instants:,} random instants of 2020–2040; "
    "median of rounds in turns.\n"
    "2.5× = takes 2.5 times as long as Foliot. "
    "celery and APScheduler cannot express “the 13th or a Friday” (last row).\n"
    "† gives other instants than Foliot on days when the clocks are moved."
)
_SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "svg.hashsalt": "foliot",
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


@dataclass(frozen=True, slots=True)
class _Mark:
    """How a library is drawn: by colour and by shape, so that either is enough to tell it."""

    colour: str
    shape: str
    size: float = 54


# The colours of Okabe and Ito, which people with any colour vision can tell apart.
_MARKS = {
    OURS.name: _Mark("#d55e00", "o", 120),
    RIVAL.name: _Mark("#0072b2", "D"),
    "celery": _Mark("#009e73", "s"),
    "cronsim": _Mark("#cc79a7", "^", 64),
    "APScheduler": _Mark("#e69f00", "v", 64),
    "croniter": _Mark("#56b4e9", "X", 64),
}


def draw_chart(cells: Sequence[Cell], path: Path) -> None:
    """Draw microseconds per call of each library. The same cells give the same file."""
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(10, 5.6), facecolor="white")
        panels = figure.subplots(1, len(ZONES), sharex=True, sharey=True)
        for panel, zone in zip(panels, ZONES, strict=True):
            _draw_panel(panel, zone, [cell for cell in cells if cell.zone == zone])
        _write_around(figure, panels, {name for cell in cells for name, wrong in cell.wrong.items() if wrong})
        # The date and the name of the program would change the file without changing the picture.
        metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=metadata)


def _draw_panel(panel: Any, zone: str, cells: Sequence[Cell]) -> None:
    panel.set_title(zone, loc="left", fontweight="bold", fontsize=12)
    for row, cell in enumerate(cells):
        times = {name: cell.timings[name].median * 1e6 for name in _MARKS if name in cell.timings}
        if row % 2 == 0:
            panel.axhspan(row - 0.5, row + 0.5, color=_BAND, zorder=0)
        panel.plot(
            [min(times.values()), max(times.values())], [row, row], color=_PALE, linewidth=1.5, zorder=1
        )
        for name, time in times.items():
            _draw_mark(panel, name, time, row)
        _write_above(panel, OURS.name, (times[OURS.name], row), f"{times[OURS.name]:.2f}")
        _write_above(panel, RIVAL.name, (times[RIVAL.name], row), f"{cell.ratio(RIVAL.name):.1f}×")
    _draw_axes(panel)


def _draw_mark(panel: Any, name: str, time: float, row: int) -> None:
    mark = _MARKS[name]
    panel.scatter(
        [time],
        [row],
        s=mark.size,
        marker=mark.shape,
        color=mark.colour,
        edgecolors="white",
        linewidths=0.8,
        zorder=4 if name == OURS.name else 3,
        label=name if row == 0 else None,
    )


def _write_above(panel: Any, name: str, place: tuple[float, int], text: str) -> None:
    panel.annotate(
        text,
        place,
        xytext=(0, 8.5),
        textcoords="offset points",
        ha="center",
        color=_MARKS[name].colour,
        fontweight="bold",
        fontsize=10,
    )


def _draw_axes(panel: Any) -> None:
    panel.set_xscale("log")
    panel.set_xlim(*_SPAN)
    panel.xaxis.set_major_locator(FixedLocator(_TICKS))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:g}"))
    panel.set_xlabel("µs per call, log scale")
    panel.set_yticks(range(len(EXPRESSIONS)), EXPRESSIONS, family="DejaVu Sans Mono", fontsize=11)
    panel.set_ylim(len(EXPRESSIONS) - 0.5, -0.5)
    panel.grid(axis="x", color=_PALE, linewidth=0.7)
    panel.set_axisbelow(True)
    panel.tick_params(length=0)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)


def _write_around(figure: Any, panels: Sequence[Any], wrong: set[str]) -> None:
    figure.suptitle(
        "Time to find the next occurrence of a cron rule — lower is better",
        x=0.02,
        y=0.975,
        ha="left",
        fontsize=15,
        fontweight="bold",
    )
    handles, labels = panels[0].get_legend_handles_labels()
    legend = figure.legend(
        handles,
        [f"{label} †" if label in wrong else label for label in labels],
        loc="upper left",
        bbox_to_anchor=(0.01, 0.935),
        ncols=len(labels),
        frameon=False,
        handletextpad=0.2,
        columnspacing=1.4,
    )
    legend.get_texts()[0].set_fontweight("bold")
    figure.text(
        0.02,
        0.02,
        _NOTE,
        fontsize=9.5,
        color="#555555",
        va="bottom",
    )
    figure.subplots_adjust(left=0.205, right=0.985, top=0.79, bottom=0.23, wspace=0.06)
