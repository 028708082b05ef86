"""A real MongoDB for tests. A machine that has none skips, with the reason; in CI that is a failure."""

from __future__ import annotations

import uuid

import pytest

from foliot.testing.servers import MissingServerError, shared_mongodb
from real_postgres import do_without


@pytest.fixture(scope="session")
def mongodb_url() -> str:
    """The standalone server that all tests share; a test makes a database of its own there."""
    return shared_mongodb_url()


def shared_mongodb_url() -> str:
    """The same, for those that need no fixture."""
    try:
        return shared_mongodb().url
    except MissingServerError as error:
        do_without(error)


def fresh_database() -> str:
    """The name of a database that no other test has."""
    return f"t{uuid.uuid4().hex}"
