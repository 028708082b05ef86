"""An application on each of the embedded stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from foliot import Foliot


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/jobs.db"


@pytest.fixture
def app(url: str) -> Iterator[Foliot]:
    app = Foliot(url, name="test")
    yield app
    app.close()
