"""The chart: how many jobs have started, by the time since they were due, on log axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.fire.contender import OURS, OURS_FEWER, PEERS, Standing

_INK = "#222222"
_PALE = "#d9d9d9"
_NOTE = (
    "No-op jobs, all due at the same second, scheduled before; SQLite in WAL mode with synchronous=FULL; "
    "each in a process of its own, in turns;\nthe median round. "
    "A line begins at the first start and ends, with its rate, at the last one."
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
# The colours of Okabe and Ito, which people with any colour vision can tell apart; and shapes.
_LOOKS = {
    OURS.name: ("#d55e00", "o", 2.6),
    OURS_FEWER.name: ("#d55e00", "^", 1.4),
    **dict(
        zip(
            (peer.name for peer in PEERS),
            (("#0072b2", "D", 1.8), ("#009e73", "s", 1.8), ("#cc79a7", "v", 1.8)),
            strict=True,
        )
    ),
}


def draw_chart(standings: Sequence[Standing], path: Path) -> None:
    """Draw the curves. The same standings give the same file."""
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(10, 5.6), facecolor="white")
        axes = figure.subplots()
        for standing in standings:
            if standing.races:
                _draw_curve(axes, standing)
        _draw_axes(axes)
        _write_around(figure, axes)
        # The date and the name of the program would change the file without changing the picture.
        metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=metadata)


def _draw_curve(axes: Any, standing: Standing) -> None:
    colour, shape, width = _LOOKS[standing.contender.name]
    seconds, counts = zip(*standing.middle["curve"], strict=True)
    label = f"{standing.contender.name}, {standing.jobs:,} jobs"
    axes.plot(seconds, counts, color=colour, linewidth=width, label=label, zorder=3)
    axes.scatter([seconds[-1]], [counts[-1]], color=colour, marker=shape, s=60, zorder=4)
    axes.annotate(
        f"{standing.starts_per_second:,.0f}/s",
        (seconds[-1], counts[-1]),
        xytext=(8, -4) if standing.contender is OURS_FEWER else (0, 8),  # clear of the other line of ours
        textcoords="offset points",
        ha="left" if standing.contender is OURS_FEWER else "center",
        color=colour,
        fontweight="bold",
        fontsize=10,
    )


def _draw_axes(axes: Any) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:,g}" if tick < 1 else f"{tick:,.0f}"))
    axes.margins(x=0.08, y=0.1)
    axes.set_xlabel("seconds after they were due, log scale")
    axes.set_ylabel("jobs that have started, log scale")
    axes.grid(color=_PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _write_around(figure: Any, axes: Any) -> None:
    figure.suptitle(
        "Jobs that are due at once: how many have started — up and to the left is better",
        x=0.02,
        y=0.975,
        ha="left",
        fontsize=14,
        fontweight="bold",
    )
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="upper left", bbox_to_anchor=(0.01, 0.935), ncols=3, frameon=False, fontsize=10
    )
    figure.text(0.02, 0.02, _NOTE, fontsize=9.5, color="#555555", va="bottom")
    figure.subplots_adjust(left=0.115, right=0.97, top=0.8, bottom=0.21)
