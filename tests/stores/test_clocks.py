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
    assert makers == {"postgres/store.py"}, "it is the default of an argument, which wiring always gives"
