"""A simulation as a drawing: one line of characters, or an SVG of two panels."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from foliot.engine.change.words import moment
from foliot.simulate.measure import Report

_BLOCKS = "▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT, _MARGIN, _GAP = 900, 150, 60, 50
_COLOURS = {"starts": "#3b6ea5", "backlog": "#b5532a"}


def sparkline(values: Sequence[int]) -> str:
    """`▁▂▅█`: the largest value is the highest block, nothing is the lowest."""
    most = max(values, default=0)
    if not most:
        return _BLOCKS[0] * len(values)
    return "".join(_BLOCKS[-(-value * (len(_BLOCKS) - 1) // most)] for value in values)


def svg_of(report: Report, title: str, zone: str) -> str:
    """Two panels, one above the other: how many runs start, and how many wait."""
    height = 2 * (_HEIGHT + _GAP) + _MARGIN
    panels = [
        _panel("starts", "runs that start", [one.starts for one in report.buckets], _MARGIN),
        _panel(
            "backlog", "runs that wait", [one.backlog for one in report.buckets], _MARGIN + _HEIGHT + _GAP
        ),
    ]
    first, last = report.buckets[0].at, report.buckets[-1].at + report.bucket
    total, ends = _WIDTH + 2 * _MARGIN, escape(moment(last, zone))
    words = [
        f'<text x="{_MARGIN}" y="24" font-size="16">{escape(title)}</text>',
        f'<text x="{_MARGIN}" y="{height - 12}">{escape(moment(first, zone))}</text>',
        f'<text x="{_MARGIN + _WIDTH}" y="{height - 12}" text-anchor="end">{ends}</text>',
    ]
    box = f'viewBox="0 0 {total} {height}" role="img" font-family="sans-serif" font-size="12"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
            f"<title>{escape(title)}</title>",
            f'<rect width="{total}" height="{height}" fill="#ffffff"/>',
            *words,
            *panels,
            "</svg>\n",
        ]
    )


def _panel(name: str, label: str, values: Sequence[int], top: int) -> str:
    most, width = max(values, default=0), _WIDTH / max(1, len(values))
    bars = [
        f'<rect x="{_MARGIN + width * n:.1f}" y="{top + _HEIGHT - _tall(value, most):.1f}" '
        f'width="{max(1.0, width - 1):.1f}" height="{_tall(value, most):.1f}" fill="{_COLOURS[name]}"/>'
        for n, value in enumerate(values)
        if value
    ]
    base = top + _HEIGHT
    return "\n".join(
        [
            f'<text x="{_MARGIN}" y="{top - 8}">{label}, {most:,} at most</text>',
            f'<line x1="{_MARGIN}" y1="{base}" x2="{_MARGIN + _WIDTH}" y2="{base}" stroke="#555555"/>',
            *bars,
        ]
    )


def _tall(value: int, most: int) -> float:
    return value / most * (_HEIGHT - 10) if most else 0.0
