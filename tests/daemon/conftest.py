"""What tests of the daemon share: a host, a repository, and daemons that leave nothing behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.harness import Daemons, Host, daemons_on
from daemon.repositories import Repository
from foliot.testing.servers import MissingServerError, shared_postgres


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "host")


@pytest.fixture
def daemons(host: Host) -> Iterator[Daemons]:
    with daemons_on(host) as daemons:
        yield daemons


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture(scope="session")
def server_url() -> str:
    try:
        return shared_postgres().url
    except MissingServerError as error:
        if os.environ.get("CI"):
            raise
        return pytest.skip(str(error))
