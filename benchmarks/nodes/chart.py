"""The chart: jobs a second by the number of nodes, who used the cores, and how much speed a store costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from benchmarks.fire.batches import GOAL

_INK = "#222222"
_PALE = "#d9d9d9"
_SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "svg.hashsalt": "foliot",
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}
# The colours of Okabe and Ito, which people with any colour vision can tell apart; and hatches and shapes.
_OURS, _SERVER, _OTHERS = "#d55e00", "#0072b2", "#bbbbbb"
_LOOKS = (("PostgreSQL", _SERVER, "o"), ("SQLite", "#009e73", "s"))


def draw_chart(figures: dict[str, Any], path: Path) -> None:
    """Draw the three panels. The same figures give the same file."""
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(12, 4.8), facecolor="white")
        rates, cores, parts = figure.subplots(1, 3)
        _draw_rates(rates, figures["race"])
        _draw_cores(cores, figures["race"], figures["environment"]["cores"])
        _draw_parts(parts, figures["store"])
        for axes in (rates, cores, parts):
            _plain(axes)
        _write_around(figure, figures)
        # The date and the name of the program would change the file without changing the picture.
        metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=metadata)


def _draw_rates(axes: Any, races: Sequence[dict[str, Any]]) -> None:
    axes.set_title("starts a second, by nodes", loc="left", fontsize=11)
    names = [str(race["nodes"]) for race in races]
    bars = axes.bar(names, [race["starts_per_second"] for race in races], color=_OURS, width=0.6, zorder=3)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontweight="bold", color=_OURS)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:,.0f}"))
    axes.margins(y=0.15)


def _draw_cores(axes: Any, races: Sequence[dict[str, Any]], cores: int) -> None:
    axes.set_title(f"busy cores, of {cores}", loc="left", fontsize=11)
    names = [str(race["nodes"]) for race in races]
    floor = [0.0] * len(races)
    for label, colour, hatch, part in (
        ("nodes", _OURS, "", "nodes"),
        ("PostgreSQL", _SERVER, "//", "server"),
        ("others", _OTHERS, "..", "others"),
    ):
        heights = [race["cores"][part] for race in races]
        axes.bar(
            names,
            heights,
            bottom=floor,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            width=0.6,
            label=label,
            zorder=3,
        )
        floor = [low + height for low, height in zip(floor, heights, strict=True)]
    axes.axhline(cores, color=_INK, linewidth=1, linestyle="--", zorder=4)
    axes.set_ylim(0, cores * 1.4)
    axes.legend(loc="upper left", ncols=3, frameon=False, fontsize=9, handlelength=1.2, columnspacing=0.8)


def _draw_parts(axes: Any, store: dict[str, Sequence[dict[str, Any]]]) -> None:
    axes.set_title("part of the bare loop's speed, by batch", loc="left", fontsize=11)
    for name, colour, shape in _LOOKS:
        speeds = store[name]
        batches = [f"{speed['batch']:,}" for speed in speeds]
        axes.plot(
            batches, [speed["ratio"] for speed in speeds], color=colour, marker=shape, label=name, zorder=3
        )
    axes.axhline(GOAL, color=_INK, linewidth=1, linestyle="--", zorder=2)
    axes.set_ylim(0, 1)
    axes.margins(x=0.08)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.legend(loc="upper left", ncols=2, frameon=False, fontsize=9)


def _plain(axes: Any) -> None:
    axes.grid(axis="y", color=_PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _write_around(figure: Any, figures: dict[str, Any]) -> None:
    jobs = figures["settings"]["jobs"]
    figure.suptitle(
        "Nodes that share one PostgreSQL", x=0.02, y=0.975, ha="left", fontsize=14, fontweight="bold"
    )
    note = (
        f"{jobs:,} no-op jobs, all due at the same second; each node a process with an engine of its own;"
        f" the server on the same host, fsync on;\nthe median of {figures['settings']['rounds']} rounds."
        f" Dashed: all cores, and the goal of {GOAL:.0%}."
    )
    figure.text(0.02, 0.02, note, fontsize=9.5, color="#555555", va="bottom")
    figure.subplots_adjust(left=0.06, right=0.985, top=0.82, bottom=0.2, wspace=0.22)
