"""One server for the session; a test gets a schema of its own."""

from __future__ import annotations

import os

import pytest

from foliot.testing.servers import MissingServerError, shared_postgres
from stores.postgres.opening import fresh


@pytest.fixture(scope="session")
def server_url() -> str:
    try:
        return shared_postgres().url
    except MissingServerError as error:
        if os.environ.get("CI"):
            raise
        return pytest.skip(str(error))


@pytest.fixture
def url(server_url: str) -> str:
    return fresh(server_url)
