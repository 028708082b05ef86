"""The fixtures of the plugin, as a project has them that has Foliot installed."""

from __future__ import annotations

import pytest

from foliot import Foliot
from foliot.testing.plugin import foliot_clock, foliot_stepper

__all__ = ["foliot_clock", "foliot_stepper"]


@pytest.fixture
def app() -> Foliot:
    """Its store cannot even be opened: whoever touches it fails."""
    return Foliot("sqlite:///no/such/folder/jobs.db", name="shop")
