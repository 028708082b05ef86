"""One server for the session; a test gets a schema of its own."""

from __future__ import annotations

import pytest

from stores.postgres.opening import fresh


@pytest.fixture
def url(server_url: str) -> str:
    return fresh(server_url)
