"""Writes are remembered for a while, and those that a database has lost are sent again in their order."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from foliot.stores.optimistic.ring import MOST_JOBS, REMEMBERED, Ring
from foliot.testing.clock import ManualClock


def ring_of(*numbers: int) -> Ring[str]:
    ring: Ring[str] = Ring(ManualClock())
    for number in numbers:
        ring.add(f"w{number}", 1, number)
    return ring


def test_only_what_is_lost_is_sent_and_in_the_order_of_numbers() -> None:
    ring, sent = ring_of(98, 103, 101), []  # two threads may add in another order than they wrote

    def write(one: str) -> tuple[int, None]:
        sent.append(one)
        return 200, None

    assert ring.note_loss(100) == 2
    assert ring.write_again(write) == 2
    assert sent == ["w101", "w103"]
    assert not ring.has_lost
    assert ring.note_loss(150) == 2, "they have new numbers, and may be lost again"


def test_what_is_refused_is_kept_for_the_next_try() -> None:
    ring = ring_of(101, 102)
    ring.note_loss(100)
    assert ring.write_again(lambda one: (0, one)) == 0
    assert ring.write_again(lambda one: (103, None if one == "w101" else "part")) == 2
    sent: list[str] = []
    assert ring.write_again(lambda one: (sent.append(one), (104, None))[1]) == 1  # type: ignore[func-returns-value]  # to note it
    assert sent == ["part"]


def test_it_forgets_what_is_old_and_what_is_too_much() -> None:
    clock = ManualClock()
    ring: Ring[str] = Ring(clock)
    ring.add("old", 1, 1)
    asyncio.run(clock.advance(REMEMBERED + timedelta(seconds=1)))
    ring.add("new", 1, 2)
    assert ring.note_loss(0) == 1
    ring.add("many", MOST_JOBS, 3)
    assert ring.note_loss(0) == 1
    ring.clear()
    assert ring.note_loss(0) == 0
    assert not ring.has_lost
