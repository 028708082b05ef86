"""What a run wrote, for a page: colours of a terminal become classes, all else that steers one is shown.

A template writes `<span class="a1 a31">text</span>` for each piece, and escapes the text. No link, title or
cursor move of a log has an effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MOST_PIECES = 5000  # with more, the rest has no colours: a page must stay quick
_SGR = re.compile(r"\x1b\[([0-9;]{0,40})m")
_COLOURS, _GROUNDS = (*range(30, 38), *range(90, 98)), (*range(40, 48), *range(100, 108))
_SET = {
    **{number: (f"a{number}", f"a{number}") for number in (1, 2, 3, 4, 7, 9)},
    **{number: ("colour", f"a{number}") for number in _COLOURS},
    **{number: ("ground", f"a{number}") for number in _GROUNDS},
}
_OFF = {
    22: ("a1", "a2"),
    23: ("a3",),
    24: ("a4",),
    27: ("a7",),
    29: ("a9",),
    39: ("colour",),
    49: ("ground",),
}
_EXTENDED = {38: 30, 48: 40}
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INDEXED, _BRIGHT, _NORMAL = 5, 16, 8


class Piece(NamedTuple):
    """Some text, and the classes of its colours."""

    classes: str
    text: str


def pieces(text: str) -> list[Piece]:
    """The pieces of a log."""
    found: list[Piece] = []
    style: dict[str, str] = {}
    place = 0
    for match in _SGR.finditer(text):
        if len(found) >= MOST_PIECES:
            break
        _add(found, style, text[place : match.start()])
        _apply(style, match[1])
        place = match.end()
    _add(found, style, text[place:])
    return found


def _add(found: list[Piece], style: dict[str, str], text: str) -> None:
    if text:
        found.append(Piece(" ".join(sorted(set(style.values()))), visible(text)))


def _apply(style: dict[str, str], codes: str) -> None:
    numbers = iter([int(code or 0) for code in codes.split(";")] if codes else [0])
    for number in numbers:
        if number == 0:
            style.clear()
        elif number in _SET:
            name, value = _SET[number]
            style[name] = value
        elif number in _OFF:
            for name in _OFF[number]:
                style.pop(name, None)
        elif number in _EXTENDED:
            _extended(style, _EXTENDED[number], numbers)


def _extended(style: dict[str, str], base: int, numbers: Iterator[int]) -> None:
    """One of 256 colours: the first sixteen are those that there are; others, and mixed ones, have none."""
    kind = next(numbers, 0)
    if kind != _INDEXED:
        for _ in range(3):
            next(numbers, 0)
        return
    index = next(numbers, 0)
    if index < _BRIGHT:
        number = base + index if index < _NORMAL else base + 60 + index - _NORMAL
        style["colour" if base == _EXTENDED[38] else "ground"] = f"a{number}"


def visible(text: str) -> str:
    """A text in which all that is not printable is shown as an escape; lines and tabs stay."""
    if text.isprintable() and not _BIDI & set(text):
        return text
    shown = []
    for line in text.replace("\r\n", "\n").split("\n"):
        is_plain = line.isprintable() and not _BIDI & set(line)
        shown.append(line if is_plain else "".join(map(_shown, line)))
    return "\n".join(shown)


def _shown(character: str) -> str:
    if character == "\t" or (character.isprintable() and character not in _BIDI):
        return character
    return "␛" if character == "\x1b" else ascii(character)[1:-1]
