"""The caret stands under the bad character, whatever stands before it."""

from __future__ import annotations

from unicodedata import east_asian_width

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.cli.caret import draw_caret


@pytest.mark.parametrize(
    ("expression", "position", "picture", "caret"),
    [
        ("0 9 * * 8", 8, "0 9 * * 8", "        ^"),
        ("0 9 * *", 7, "0 9 * *", "       ^"),
        ("", 0, "", "^"),
        ("x", 0, "x", "^"),
        ("0\t9 x", 4, r"0\t9 x", "     ^"),
        ("\x1b[31m x", 6, r"\x1b[31m x", "         ^"),
        ("\x00\x00x", 2, r"\x00\x00x", "        ^"),
        pytest.param("０ 日本 x", 5, "０ 日本 x", "        ^", id="wide characters"),
        pytest.param("août x", 5, "août x", "     ^", id="accents"),
        pytest.param("e\u0301 x", 3, "e\\u0301 x", "        ^", id="a combining mark"),
        pytest.param("👍🏽 x", 3, "\\U0001f44d\\U0001f3fd x", " " * 21 + "^", id="emoji"),
        pytest.param("א x", 2, "\\u05d0 x", "       ^", id="right to left"),
        pytest.param("\u202e x", 2, "\\u202e x", "       ^", id="an override of direction"),
        pytest.param("\udcff x", 2, "\\udcff x", "       ^", id="a byte that is no text"),
        (r"\x", 1, r"\x", " ^"),
    ],
)
def test_points_at_the_character(expression: str, position: int, picture: str, caret: str) -> None:
    assert draw_caret(expression, position) == (picture, caret)


def test_what_an_encoding_lacks_is_escaped_before_the_columns_are_counted() -> None:
    assert draw_caret("日 x", 2, encoding="ascii") == (r"\u65e5 x", "       ^")
    assert draw_caret("é x", 2, encoding="latin-1") == ("é x", "  ^")


@pytest.mark.parametrize(
    ("position", "picture", "column"),
    [
        pytest.param(0, "x" + "a" * 71 + "…", 0, id="start"),
        pytest.param(500, "…" + "a" * 36 + "x" + "a" * 35 + "…", 37, id="middle"),
        pytest.param(999, "…" + "a" * 71 + "x", 72, id="end"),
        pytest.param(1000, "…" + "a" * 72, 73, id="after the end"),
    ],
)
def test_shows_a_window_of_a_long_expression(position: int, picture: str, column: int) -> None:
    expression = "a" * position + "x" + "a" * (999 - position) if position < 1000 else "a" * 1000
    assert draw_caret(expression, position) == (picture, " " * column + "^")


def test_an_ellipsis_is_dots_where_there_is_no_character_for_it() -> None:
    assert draw_caret("a" * 1000, 500, encoding="ascii")[0] == "..." + "a" * 72 + "..."


@given(st.text(), st.text(min_size=1, max_size=1), st.text(), st.sampled_from(["utf-8", "ascii"]))
def test_the_caret_is_at_the_column_of_its_character(
    before: str, bad: str, after: str, encoding: str
) -> None:
    picture, caret = draw_caret(before + bad + after, len(before), encoding=encoding)
    assert picture.isprintable()
    assert columns(picture) <= 78
    at = caret.index("^")
    shown = rest_from_column(picture, at)
    assert shown.startswith((bad, ascii(bad)[1:-1]))


def columns(text: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def rest_from_column(text: str, column: int) -> str:
    for index in range(len(text) + 1):
        if columns(text[:index]) == column:
            return text[index:]
    raise AssertionError("the caret stands in the middle of a character")
