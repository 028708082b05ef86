"""Programs whose wall clock is what a test says (libfaketime)."""

from __future__ import annotations

import pytest

from foliot.testing.servers.faketime import ADVICE, environment, find_library

__all__ = ["environment", "library"]


def library() -> str:
    """One that works; the test is skipped if there is none."""
    found = find_library()
    if found is None:
        pytest.skip(ADVICE)
    return found
