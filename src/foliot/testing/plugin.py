"""Fixtures for pytest. Installed with Foliot; a project that does not ask for them pays for one small import.

Nothing here is imported before a test asks for it, and nothing else of pytest is touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from foliot.testing.clock import ManualClock
    from foliot.testing.stepper import Stepper


@pytest.fixture
def foliot_stepper() -> type[Stepper]:
    """What steps an application by hand: `with …(app, at="2026-01-31T23:00:00Z") as time:`."""
    from foliot.testing.stepper import Stepper  # noqa: PLC0415 - only for those who ask

    return Stepper


@pytest.fixture
def foliot_clock() -> ManualClock:
    """A clock that stands still until it is moved, for code of one's own that takes a clock."""
    from foliot.testing.clock import ManualClock  # noqa: PLC0415 - as above

    return ManualClock()
