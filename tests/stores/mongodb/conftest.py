"""A database of one's own on the server that all tests share, or a server of one's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foliot.testing.servers import MissingServerError, MongoServer, mongodb_server
from real_postgres import do_without
from stores.mongodb.opening import fresh


@pytest.fixture
def url(mongodb_url: str) -> str:
    """A database of one's own."""
    return fresh(mongodb_url)


@pytest.fixture
def server() -> Iterator[MongoServer]:
    """A standalone server of one's own, which may be stopped and paused."""
    try:
        with mongodb_server() as server:
            yield server
    except MissingServerError as error:
        do_without(error)
