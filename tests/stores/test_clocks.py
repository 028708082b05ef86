"""Stores take their clock: under a test's clock nothing of them depends on real time."""

from __future__ import annotations

from pathlib import Path

import foliot.stores

STORES = Path(foliot.stores.__file__).parent


def test_no_store_makes_a_clock_of_its_own() -> None:
    makers = {
        path.relative_to(STORES).as_posix()
        for path in STORES.rglob("*.py")
        if "SystemClock" in path.read_text()
    }
    # Of an argument, which wiring always gives.
    by_default = {"postgres/store.py", "redis/store.py", "mongodb/store.py"}
    # Of `foliot store check`: there is no engine, and no time that matters.
    from_outside = {"redis/inspection.py", "mongodb/inspection.py"}
    assert makers == by_default | from_outside
