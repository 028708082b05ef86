"""Put the figures of the last `make bench` into docs/explanation/speed.md."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/explanation/speed.md"
FIGURES = ROOT / "docs/assets/bench-cron.json"
OURS, RIVAL = "foliot", "croniter-rs"
_TABLES = re.compile(r"(<!-- figures -->\n).*(<!-- end of figures -->)", re.DOTALL)


def tables(figures: dict[str, Any]) -> str:
    """The figures as text: for single questions, for many in a row, and for herds."""
    herd = figures["herd"]
    return (
        "\n**One question at a time**, in µs; the ratio is croniter-rs to Foliot:\n\n"
        + _table(figures["next_times"])
        + "\n**Many occurrences in a row** (`upcoming`), in µs each. Here croniter-rs, which then makes no"
        " Python call for each, is the faster one in most cells:\n\n"
        + _table(figures["runs"])
        + f"\n**A herd**: {herd['shared']['median_ns']:.0f} ns a job when a million jobs refer to the same"
        f" thousand rules, {herd['equal']['median_ns']:.0f} ns when each has an equal rule of its own.\n\n"
    )


def _table(cells: list[dict[str, Any]]) -> str:
    lines = ["| expression | zone | foliot | croniter-rs | ratio |", "|---|---|---|---|---|"]
    for cell in cells:
        ours, rival = (cell["libraries"][name]["median_us"] for name in (OURS, RIVAL))
        lines.append(
            f"| `{cell['expression']}` | {cell['zone']} | {ours:.2f} | {rival:.2f} | {rival / ours:.2f} |"
        )
    return "\n".join(lines) + "\n"


def page() -> str:
    """The whole page, with the figures of the last run."""
    text = tables(json.loads(FIGURES.read_text()))
    return _TABLES.sub(lambda found: found[1] + text + found[2], PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.exit(0)
