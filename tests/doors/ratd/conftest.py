from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doors.ratd.stage import Scene, play
from engine.rat_stage import place_for

On = Callable[[Scene], None]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.prove)])
def on_stage(request: pytest.FixtureRequest, tmp_path: Path) -> On:
    where = place_for(request.param, tmp_path)
    return lambda scene: play(where, scene)


@pytest.fixture
def on_file(tmp_path: Path) -> On:
    """For what does not depend on the store."""
    return lambda scene: play(place_for("sqlite", tmp_path), scene)
