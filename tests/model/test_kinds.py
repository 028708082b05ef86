"""Kinds of action: one by one, and all of a prefix."""

from __future__ import annotations

import pytest

from foliot.model.kinds import ByKind, serves


@pytest.mark.parametrize(
    ("kinds", "kind", "is_served"),
    [
        (None, "http", True),
        ((), "http", False),
        (("http",), "http", True),
        (("http",), "http:get", False),
        (("http:",), "http", True),
        (("http:",), "http:get", True),
        (("http:",), "http:get:fast", True),
        (("http:",), "https:get", False),
        (("http:get:",), "http:get:fast", False),
        (frozenset({"python:a"}), "python:b", False),
    ],
)
def test_a_kind_is_served_by_itself_or_by_its_prefix(kinds: object, kind: str, is_served: object) -> None:
    assert serves(kinds, kind) is is_served  # type: ignore[arg-type] # as parameters are


def test_what_a_kind_has_of_its_own_counts_more_than_its_prefix() -> None:
    table = ByKind[int | None]({"http:": 1, "http:get": 2, "http:put": None})
    assert [table[kind] for kind in ("http", "http:post", "http:get")] == [1, 1, 2]
    assert table.find("http:put") is None
    assert table.find("ftp") is None
    with pytest.raises(KeyError, match="ftp:get"):
        table["ftp:get"]
