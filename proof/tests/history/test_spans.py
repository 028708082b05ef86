"""Spans of time: what is done with them, as tables. Numbers stand for minutes of an hour."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot_proof.history.spans import (
    Span,
    between,
    covering,
    crowded,
    first_room,
    merged,
    shared,
    touches,
)
from history.case_builder import clock

Minutes = list[tuple[int, int]]
SPANS = st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)).map(lambda pair: (min(pair), max(pair))))


def at(minute: int) -> datetime:
    return clock("10:00") + timedelta(minutes=minute)


def spans(minutes: Minutes) -> list[Span]:
    return [(at(begin), at(end)) for begin, end in minutes]


@pytest.mark.parametrize(
    ("given", "gap", "expected"),
    [
        ([], 0, []),
        ([(5, 9), (1, 3)], 0, [(1, 3), (5, 9)]),
        ([(1, 5), (2, 3), (4, 8)], 0, [(1, 8)]),
        ([(1, 2), (2, 3)], 0, [(1, 3)]),
        ([(1, 2), (5, 6)], 3, [(1, 6)]),
        ([(1, 2), (5, 6)], 2, [(1, 2), (5, 6)]),
        ([(9, 1)], 0, []),
    ],
)
def test_merged(given: Minutes, gap: int, expected: Minutes) -> None:
    assert merged(spans(given), timedelta(minutes=gap)) == spans(expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], [(10, 50)]),
        ([(0, 5)], [(10, 50)]),
        ([(0, 20)], [(20, 50)]),
        ([(20, 30)], [(10, 20), (30, 50)]),
        ([(20, 30), (40, 59)], [(10, 20), (30, 40)]),
        ([(0, 59)], []),
        ([(55, 59)], [(10, 50)]),
    ],
)
def test_between(given: Minutes, expected: Minutes) -> None:
    assert between(spans(given), at(10), at(50)) == spans(expected)


@pytest.mark.parametrize(
    ("most", "expected"),
    [(1, [(1, 9), (20, 30)]), (2, [(2, 6)]), (3, [(4, 5)]), (4, [])],
)
def test_crowded(most: int, expected: Minutes) -> None:
    given = [(1, 6), (2, 5), (4, 9), (20, 30), (40, 40)]
    assert crowded(spans(given), most) == spans(expected)


@pytest.mark.parametrize(
    ("free", "blockers", "since", "until", "expected"),
    [
        ([(0, 59)], [], 10, 59, 15),
        ([(0, 59)], [], 10, 14, None),
        ([(0, 12), (20, 59)], [], 10, 59, 25),
        ([(0, 59)], [(8, 12)], 10, 59, 17),
        ([(0, 59)], [(14, 20)], 10, 59, 25),
        ([(0, 59)], [(15, 20)], 10, 59, 15),
        ([(0, 59)], [(12, 20), (23, 30)], 10, 59, 35),
        ([(0, 22), (30, 59)], [(12, 20)], 10, 59, 35),
        ([(50, 59)], [], 10, 40, None),
        ([], [], 10, 59, None),
    ],
)
def test_first_room(free: Minutes, blockers: Minutes, since: int, until: int, expected: int | None) -> None:
    found = first_room(spans(free), spans(blockers), at(since), at(until), timedelta(minutes=5))
    assert found == (None if expected is None else at(expected))


@given(SPANS, st.integers(0, 59), st.integers(0, 59))
def test_what_is_covered_and_what_lies_between_are_all(given: Minutes, minute: int, other: int) -> None:
    covered = merged(spans(given))
    moment = at(minute) + timedelta(seconds=30)
    gaps = between(covered, at(0), at(60))
    assert (covering(covered, moment) is None) != (covering(gaps, moment) is None)
    begin, end = sorted((at(minute), at(other)))
    assert touches(covered, begin, end) == any(first <= end and last >= begin for first, last in covered)


@pytest.mark.parametrize(
    ("given", "begin", "end", "expected"),
    [([], 0, 59, 0), ([(5, 9), (20, 30)], 0, 59, 14), ([(5, 9), (20, 30)], 7, 22, 4), ([(5, 9)], 10, 20, 0)],
)
def test_shared(given: Minutes, begin: int, end: int, expected: int) -> None:
    assert shared(spans(given), at(begin), at(end)) == timedelta(minutes=expected)
