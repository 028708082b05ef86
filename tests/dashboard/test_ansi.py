"""Logs on a page: colours become classes, nothing else of a terminal has an effect."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.dashboard.ansi import MOST_PIECES, pieces

CASES = {
    "plain": ("plain", [("", "plain")]),
    "\x1b[32mok\x1b[0m.": ("colour", [("a32", "ok"), ("", ".")]),
    "\x1b[1;31mbad\x1b[39m bold": ("two", [("a1 a31", "bad"), ("a1", " bold")]),
    "\x1b[38;5;9mindexed": ("indexed", [("a91", "indexed")]),
    "\x1b[38;2;1;2;3mmixed": ("mixed", [("", "mixed")]),
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\": (
        "link", [("", "␛]8;;http://evil.example␛\\link␛]8;;␛\\")],
    ),
    "\x1b[2J\x1b[Hcleared": ("cursor", [("", "␛[2J␛[Hcleared")]),
    "a\u202eb": ("bidi", [("", "a\\u202eb")]),
    "a\r\nb\tc\x07": ("controls", [("", "a\nb\tc\\x07")]),
}  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_colours_become_classes_and_all_else_is_shown(text: str) -> None:
    assert [tuple(piece) for piece in pieces(text)] == CASES[text][1]


@given(st.text(alphabet=st.sampled_from("\x1b[]0123456789;mJH<>&\"' ab\n\u202e\x9b\x00")))
def test_no_log_makes_a_class_of_its_own(text: str) -> None:
    for piece in pieces(text):
        assert re.fullmatch(r"(a[0-9]{1,3}( a[0-9]{1,3})*)?", piece.classes)
        assert not set(piece.text) & set("\x1b\x9b\x00\u202e")


def test_ten_thousand_colours_do_not_make_ten_thousand_elements() -> None:
    assert len(pieces("\x1b[31ma\x1b[32mb" * 10_000)) <= MOST_PIECES + 1
