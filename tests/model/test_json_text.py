"""Short objects are read the quick way, and no other way than all others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foliot.model import json_text
from foliot.model.json_text import (
    LARGEST,
    MisfitError,
    check_json,
    is_flat,
    read_object,
    read_objects,
    write_flat,
    write_json,
)

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=4), st.just([1])
)
texts = st.builds(
    lambda pairs, glue: "{" + glue.join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in pairs) + "}",
    st.lists(st.tuples(st.sampled_from(["a", "b", ":", "\u00e4", '"']), scalars), max_size=4),
    st.sampled_from([",", ", ", " ,"]),
)


def read_slowly(text: str) -> object:
    short, json_text._SHORT = json_text._SHORT, -1
    try:
        return read_object(text)
    except MisfitError as error:
        return error.reason, error.path
    finally:
        json_text._SHORT = short


@given(texts)
@example('{"a":1,"a":2}')
@example('{"a" :1, "a":2}')
@example('{"a":{"b":1}}')
@example('{"a":NaN}')
@example(f'{{"a":{LARGEST + 1}}}')
@example(f'{{"a":{"9" * 400}}}')
@example('{"a":"\x00"}')
@example('{"a":1} ')
@example('{"a":1}x')
@example("[1]")
@example("")
def test_the_quick_way_reads_as_the_other_does(text: str) -> None:
    try:
        found: object = read_object(text)
    except MisfitError as error:
        found = error.reason, error.path
    assert repr(found) == repr(read_slowly(text))


@pytest.mark.parametrize("text", ['{"user":12345}', '{"a":"b","c":true,"d":null,"e":-5}', "{}"])
def test_the_usual_goes_the_quick_way(text: str) -> None:
    assert json_text._read_flat(text) == json.loads(text)


def readable(some: list[Any]) -> list[Any]:
    """What is read one by one, up to the first that cannot be read."""
    found: list[Any] = []
    for text in some:
        try:
            found.append(read_object(text))
        except MisfitError:
            break
    return found


@given(st.lists(texts | st.sampled_from(["", "{}", "[1]", '{"a":1', '"b":2}', '{"a":1},{"b":2}'])))
@example(['{"a":1},{"b":2', '"c":3}'])
@example(['{"a":1},{"b":2}', '{"a":[1', "2]}"])
@example(['{"a":1}', '{"a":"}"}', '{"a":"{"}'])
@example(['{"a":1,"a":2}', '{"b":":"}'])
@example(["{}", '{"a":1}x', "{}"])
def test_many_objects_are_read_as_one_by_one(some: list[str]) -> None:
    assert repr(read_objects(some)) == repr(readable(some))


def test_what_is_no_text_ends_the_reading_of_many() -> None:
    damaged: Any = ["{}", b"{}", "{}"]
    assert read_objects(damaged) == [{}]


def test_many_usual_ones_are_read_at_once() -> None:
    some = ['{"user":1}', "{}", '{"a":"b","c":null}']
    assert json_text._read_flat_ones(some) == [json.loads(text) for text in some]


values = (
    scalars
    | st.dictionaries(st.text(max_size=2), st.integers(), max_size=1)
    | st.sampled_from(["\0", "\ud800"])
)


@given(st.dictionaries(st.text(max_size=4) | st.integers(), values, max_size=4))
@example({"a": LARGEST + 1})
@example({"a": -LARGEST - 1})
@example({"a\0": 1})
@example({"a": float("inf")})
def test_what_is_called_flat_would_pass_all_checks(data: dict[Any, Any]) -> None:
    text = write_flat(data)
    assert (text is not None) == is_flat(data)
    if text is not None:
        check_json(data)
        assert text == write_json(data)


def test_the_usual_is_written_the_quick_way() -> None:
    assert write_flat({"user": 42, "b": None, "a": "x", "c": 1.5, "d": True}) is not None
    assert write_flat({"a": "x" * json_text.LONGEST_TEXT}) is None
