"""Ids of keys: one spelling for each key, and back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.api.ids import id_of, key_of

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30)


@given(NAMES)
def test_every_key_comes_back_from_its_id(key: str) -> None:
    made = id_of(key)
    assert re.fullmatch(r"[A-Za-z0-9_.~-]+", made)
    assert made not in (".", "..")
    assert key_of(made) == key


@given(st.text(max_size=30))
def test_a_text_is_the_id_of_one_key_or_of_none(text: str) -> None:
    key = key_of(text)
    assert key is None or id_of(key) == text


@pytest.mark.parametrize(
    ("key", "made"),
    [
        ("ops/backup", "ops~2Fbackup"), ("a~b", "a~7Eb"), ("..", "~2E~2E"), ("a.b", "a.b"), ("ü", "~C3~BC"),
        ("ops/x@2026-11-15T07:00:00Z", "ops~2Fx~402026-11-15T07~3A00~3A00Z"), ("100%", "100~25"),
    ],
)  # fmt: skip
def test_ids_of_some_keys(key: str, made: str) -> None:
    assert (id_of(key), key_of(made)) == (made, key)


@pytest.mark.parametrize(
    "text", ["", "a/b", "~2f", "~41", "~", "~2", "a%2Fb", "~FF", "..", "a b", "ü", "~ED~A0~80"]
)
def test_what_is_no_id(text: str) -> None:
    assert key_of(text) is None
