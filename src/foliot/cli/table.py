"""Tables that fit a terminal, and lists of facts: columns that matter less go first, and no key is lost.

On a terminal a table is as wide as the terminal at most: columns are left out, the least important first,
and if that is not enough the widest is cut. Without a terminal nothing is left out and nothing is cut, so
that `grep` and `awk` see all of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import NamedTuple
from unicodedata import category, east_asian_width

import click

from foliot.cli.output import is_styled, visible, write

_GAP = "  "
_USUAL_COLUMNS = 80
_NARROWEST = 8  # of a column that is cut
_ELLIPSIS = "…"


class Column(NamedTuple):
    """A heading, how early the column is left out (highest rank first, 0 never), and how far it may shrink.

    A column without `least` is shown in full as long as leaving others out makes room for it.
    """

    heading: str
    rank: int = 0
    least: int | None = None


class Cell(NamedTuple):
    """A text and its colour."""

    text: str
    colour: str | None = None


Row = Sequence[Cell | str]


def write_rows(columns: Sequence[Column], rows: Iterable[Row]) -> None:
    """A table on stdout; columns that may be left out are if they are empty."""
    write("\n".join(table_lines(columns, rows, room_of_terminal())), sys.stdout)


def table_lines(columns: Sequence[Column], rows: Iterable[Row], room: int | None) -> list[str]:
    """The lines of a table, at most `room` columns wide; None: no bound."""
    heading = [Cell(column.heading, "heading") for column in columns]
    table = [heading, *([_cell(cell) for cell in row] for row in rows)]
    widths = [max(width_of(cell.text) for cell in column) for column in zip(*table, strict=True)]
    shown = [
        i for i, column in enumerate(columns) if column.rank == 0 or any(row[i].text for row in table[1:])
    ]
    if room is not None:
        least = [_least(column, width) for column, width in zip(columns, widths, strict=True)]
        shown = _fitting(columns, shown, least, room)
        widths = _cut(widths, least, shown, room)
    return [_line([row[i] for i in shown], [widths[i] for i in shown]) for row in table]


def write_facts(facts: Iterable[tuple[str, Cell | str | None]]) -> None:
    """Labels and values on stdout; what has no value is left out."""
    given = [(label, _cell(value)) for label, value in facts if value is not None and value != ""]
    width = max(len(label) for label, _ in given) + 2
    lines = (
        _painted(Cell(label.ljust(width), "heading"))
        + _painted(Cell(_wrapped(value.text, width), value.colour))
        for label, value in given
    )
    write("\n".join(lines), sys.stdout)


def _wrapped(text: str, indent: int) -> str:
    """A value on as many lines as it needs, all of them to the right of its label. No word is broken."""
    room = room_of_terminal()
    if room is None or room - indent < _NARROWEST or not text.isascii():  # else columns are not characters
        return text
    lines = wrap(text, room - indent, break_long_words=False, break_on_hyphens=False)
    return f"\n{' ' * indent}".join(lines)


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def room_of_terminal() -> int | None:
    """How many columns there are; None: no bound."""
    if not sys.stdout.isatty():
        return None
    return os.get_terminal_size(sys.stdout.fileno()).columns or _USUAL_COLUMNS


def _cell(cell: Cell | str) -> Cell:
    text, colour = (cell, None) if isinstance(cell, str) else cell
    return Cell(visible(text), colour)


def _least(column: Column, width: int) -> int:
    return width if column.least is None else min(width, max(column.least, len(column.heading)))


def _fitting(columns: Sequence[Column], shown: list[int], least: list[int], room: int) -> list[int]:
    """As many of the columns as fit, if each shrinks as far as it may."""
    shown = list(shown)
    while _total([least[i] for i in shown]) > room:
        first_to_go = max(shown, key=lambda i: columns[i].rank)
        if columns[first_to_go].rank == 0:
            break
        shown.remove(first_to_go)
    return shown


def _cut(widths: list[int], least: list[int], shown: list[int], room: int) -> list[int]:
    """The widths at which these columns fit: the widest that may shrink shrinks first, then the widest."""
    widths = list(widths)
    while _total([widths[i] for i in shown]) > room:
        willing = [i for i in shown if widths[i] > least[i]] or [i for i in shown if widths[i] > _NARROWEST]
        if not willing:
            break
        widths[max(willing, key=lambda i: widths[i])] -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _line(row: list[Cell], widths: list[int]) -> str:
    parts = []
    for (text, colour), width in zip(row, widths, strict=True):
        short = _shortened(text, width)
        parts.append(_painted(Cell(short, colour)) + " " * (width - width_of(short)))
    return _GAP.join(parts).rstrip()


def _shortened(text: str, width: int) -> str:
    """A text that fits; its middle is cut out, because a key is told by both its ends."""
    if width_of(text) <= width:
        return text
    head, tail = text[: width // 2], text[-(width // 2) :]
    while head and width_of(head) + 1 + width_of(tail) > width:
        head, tail = (head[:-1], tail) if len(head) >= len(tail) else (head, tail[1:])
    return f"{head}{_ELLIPSIS}{tail}"


def _painted(cell: Cell) -> str:
    if cell.colour is None or not cell.text or not is_styled(sys.stdout):
        return cell.text
    return (
        click.style(cell.text, bold=True)
        if cell.colour == "heading"
        else click.style(cell.text, fg=cell.colour)
    )
