"""What tests of the daemon share: a host, a repository, and daemons that leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.harness import Daemons, Host, daemons_on
from daemon.repositories import Repository


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
