"""A real PostgreSQL for tests. Who has none skips, with the reason; in CI that is a failure."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

from foliot.testing.servers import MissingServerError, shared_postgres


@pytest.fixture(scope="session")
def server_url() -> str:
    """The PostgreSQL that all tests share."""
    return shared_url()


def shared_url() -> str:
    """The server that all tests of a session share; a test makes a schema of its own there."""
    try:
        return shared_postgres().url
    except MissingServerError as error:
        do_without(error)


def do_without(error: MissingServerError) -> NoReturn:
    """There is no server to be had."""
    if os.environ.get("CI"):
        raise error
    pytest.skip(str(error))
