"""How far claims have come, and for how long that counts."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from foliot.stores.claim_cursor import ClaimCursor
from foliot.testing.clock import ManualClock

HERE, THERE = (7, 7), (8, 8)


def a_cursor(*, has_litter: bool) -> tuple[ClaimCursor, ManualClock]:
    clock = ManualClock()
    return ClaimCursor(clock, has_litter=has_litter), clock


@pytest.mark.parametrize(
    ("has_litter", "looked", "passed", "wanted"),
    [
        (True, 500, 0, HERE),
        (True, 99, 0, None),
        (False, 500, 0, None),
        (False, 500, 100, HERE),
        (False, 500, 99, None),
    ],
)
def test_only_what_would_be_long_to_walk_over_is_left_behind(
    has_litter: bool,  # noqa: FBT001 - a row of the table
    looked: int,
    passed: int,
    wanted: tuple[int, int] | None,
) -> None:
    cursor, _ = a_cursor(has_litter=has_litter)
    cursor.end("a", HERE, looked, passed)
    assert cursor.start("a") == wanted
    assert cursor.start("b") is None


def test_in_a_herd_a_place_holds_for_a_moment_only_however_often_it_moves() -> None:
    cursor, clock = a_cursor(has_litter=True)
    cursor.end("a", HERE, 500)
    asyncio.run(clock.advance(timedelta(seconds=0.5)))
    cursor.end("a", THERE, 500)
    assert cursor.start("a") == THERE
    asyncio.run(clock.advance(timedelta(seconds=0.5)))
    assert cursor.start("a") is None


def test_among_those_passed_over_a_place_holds_for_as_long_as_it_moves() -> None:
    cursor, clock = a_cursor(has_litter=False)
    for number in range(30):
        cursor.end("a", (number, number), 500, 500)
        asyncio.run(clock.advance(timedelta(seconds=9)))
        assert cursor.start("a") == (number, number)
    asyncio.run(clock.advance(timedelta(seconds=1)))
    assert cursor.start("a") is None, "nobody has moved it for long"


def test_a_claim_that_came_to_the_end_begins_at_the_front() -> None:
    cursor, _ = a_cursor(has_litter=True)
    cursor.end("a", HERE, 500)
    cursor.forget("a")
    assert cursor.start("a") is None
