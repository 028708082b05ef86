"""Months of simulation are not measured for coverage: tracing makes them four times as long."""

from __future__ import annotations

from collections.abc import Iterator

import coverage
import pytest


@pytest.fixture
def untraced() -> Iterator[None]:
    """Coverage looks away."""
    measuring = coverage.Coverage.current()
    if measuring is not None:
        measuring.stop()
    yield
    if measuring is not None:
        measuring.start()
