"""What the threads of one store share does not break when they use it at once."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

from foliot.stores.redis.shared import Shared
from foliot.testing.clock import ManualClock

THREADS, MARKS = 4, 50_000


def test_marks_are_given_to_any_number_of_threads_and_none_twice() -> None:
    shared = Shared("{t}", ManualClock(), timedelta(seconds=30))
    begin = Barrier(THREADS)

    def take() -> list[str]:
        begin.wait()
        return [next(shared.marks) for _ in range(MARKS)]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            parts = [future.result() for future in [pool.submit(take) for _ in range(THREADS)]]
    finally:
        sys.setswitchinterval(before)
    assert len({mark for part in parts for mark in part}) == THREADS * MARKS
