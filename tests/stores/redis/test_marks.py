"""Marks tell one write from another; all threads of a store draw from one source."""

from __future__ import annotations

import sys
import threading
from datetime import timedelta

from foliot.clock import SystemClock
from foliot.stores.redis.asking import Shared


def test_threads_that_ask_for_marks_at_once_get_different_ones() -> None:
    shared = Shared("{t}", SystemClock(), timedelta(seconds=30))
    found: list[list[str]] = [[] for _ in range(4)]

    begin = threading.Barrier(4)

    def ask(mine: list[str]) -> None:
        begin.wait(60)
        for _ in range(50_000):
            mine.append(next(shared.marks))  # noqa: PERF401 - a comprehension would not be interrupted

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that two of them meet within one call
    try:
        threads = [threading.Thread(target=ask, args=(mine,)) for mine in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)

    assert len({mark for mine in found for mark in mine}) == 200_000
