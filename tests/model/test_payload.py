"""A payload is a JSON object, comes back as it was, and is bounded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from foliot.errors import InvalidJobError
from foliot.model.payload import LONGEST_PAYLOAD, payload_text, read_payload


@pytest.mark.parametrize("payload", [None, {}, {"b": [1, 2.5, None], "a": {"ü": True}}])
def test_what_is_given_comes_back_as_it_was(payload: dict[str, Any] | None) -> None:
    assert read_payload(payload_text(payload)) == payload


def test_equal_payloads_have_equal_texts() -> None:
    assert payload_text({"b": 1, "a": (1, 2)}) == payload_text({"a": [1, 2], "b": 1}) == '{"a":[1,2],"b":1}'


HOLDS_ITSELF: dict[str, Any] = {}
HOLDS_ITSELF["itself"] = HOLDS_ITSELF


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ([1], r"payload.*must be a JSON object"),
        ("text", r"payload.*must be a JSON object"),
        ({"at": {"x": datetime(2026, 1, 1, tzinfo=UTC)}}, r"payload\.at\.x.*datetime"),
        ({"x": float("nan")}, r"payload\.x.*finite"),
        ({1: 2}, r"payload.*must be a text"),
        (HOLDS_ITSELF, r"payload.*nested too deeply"),
        ({"x": "a" * LONGEST_PAYLOAD}, r"payload.*65,544 characters of JSON, and 65,536 are the most"),
    ],
)
def test_what_cannot_be_kept_is_refused(payload: object, message: str) -> None:
    with pytest.raises(InvalidJobError, match=message):
        payload_text(payload)


@pytest.mark.parametrize("text", ["", "[]", "{", "{} {}", '{"a":1,"a":2}', '{"a":NaN}', " " * 70_000])
def test_a_text_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidJobError, match="payload"):
        read_payload(text)


def test_the_longest_payload_is_taken() -> None:
    payload = {"x": "a" * (LONGEST_PAYLOAD - len('{"x":""}'))}
    assert read_payload(payload_text(payload)) == payload
