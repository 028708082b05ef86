"""Whatever a value holds, it comes back from an array and from a COPY as it was."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.stores.postgres import arrays

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.sampled_from(
    ["NULL", "null", "", " ", '"', "\\", '\\"', "{}", ",", "{a,b}", "\n\t\r", "\\N", "\\.", "None", "%s"]
)
NUMBERS = st.integers(-(2**63), 2**63 - 1)


@pytest.fixture(scope="module")
def connection(server_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(server_url, autocommit=True) as connection:
        yield connection


@given(values=st.lists(st.none() | TEXTS, max_size=5))
def test_texts_come_back(
    connection: psycopg.Connection[tuple[object, ...]], values: list[str | None]
) -> None:
    row = connection.execute("SELECT %s::text[]", (arrays.texts(values),)).fetchone()
    assert row == (values,)


@given(values=st.lists(st.none() | NUMBERS, max_size=5) | st.lists(st.sampled_from([7, None]), max_size=3))
def test_numbers_come_back(
    connection: psycopg.Connection[tuple[object, ...]], values: list[int | None]
) -> None:
    row = connection.execute("SELECT %s::bigint[]", (arrays.numbers(values),)).fetchone()
    assert row == (values,)


@given(rows=st.lists(st.tuples(NUMBERS, st.none() | TEXTS), max_size=5))
def test_rows_come_back_from_a_copy(
    connection: psycopg.Connection[tuple[object, ...]], rows: list[tuple[int, str | None]]
) -> None:
    connection.execute("CREATE TEMPORARY TABLE IF NOT EXISTS copied (place serial, number bigint, text text)")
    connection.execute("TRUNCATE copied")
    with connection.cursor().copy("COPY copied (number, text) FROM STDIN") as stream:
        stream.write(arrays.copy_lines(rows))
    assert connection.execute("SELECT number, text FROM copied ORDER BY place").fetchall() == rows
