"""The picture of an expression with a caret under its bad character."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import bidirectional, category, east_asian_width

_RIGHT_TO_LEFT = ("R", "AL", "AN")
_ROOM = 72


def draw_caret(expression: str, position: int, *, encoding: str = "utf-8") -> tuple[str, str]:
    """The expression, or as much of it around a position as fits a line, and the line with the caret.

    A position at the end of the expression is where something is missing.
    """
    # A cell is at least one column wide, so no more characters than columns can be needed.
    before = [_cell(character, encoding) for character in expression[max(0, position - _ROOM) : position]]
    after = [_cell(character, encoding) for character in expression[position : position + _ROOM]]
    wanted = min(_width(after), _ROOM // 2)
    left = _fitting(reversed(before), _ROOM - wanted)[::-1]
    right = _fitting(after, _ROOM - _width(left))
    ellipsis = "…" if _can_encode("…", encoding) else "..."
    lead = ellipsis if len(left) < position else ""
    trail = ellipsis if position + len(right) < len(expression) else ""
    picture = lead + "".join(left) + "".join(right) + trail
    return picture, " " * (len(lead) + _width(left)) + "^"


def _cell(character: str, encoding: str) -> str:
    """A character as it is shown: itself, or its escape if terminals do not agree how wide it is."""
    if character.isprintable() and _has_certain_width(character) and _can_encode(character, encoding):
        return character
    return ascii(character)[1:-1]


def _has_certain_width(character: str) -> bool:
    """Whether a printable character takes its columns wherever it stands.

    A mark joins the character before it, symbols such as emoji join each other, and a character
    written from right to left moves its neighbours.
    """
    kind = category(character)
    joins = kind.startswith("M") or kind in ("So", "Sk")
    return character.isascii() or not (joins or bidirectional(character) in _RIGHT_TO_LEFT)


def _can_encode(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _width(cells: Iterable[str]) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for cell in cells for character in cell)


def _fitting(cells: Iterable[str], room: int) -> list[str]:
    """The first cells that fit."""
    taken: list[str] = []
    for cell in cells:
        room -= _width(cell)
        if room < 0:
            break
        taken.append(cell)
    return taken
