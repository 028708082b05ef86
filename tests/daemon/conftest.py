"""What tests of the daemon share: a host, a repository, and daemons that leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.harness import Daemons, Host, daemons_on
from daemon.repositories import Repository
from daemon.site import Site, site_in
from stores.postgres.opening import fresh


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


@pytest.fixture(params=["sqlite", "postgres"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """Hosts that share a store of each kind."""
    url = f"sqlite:///{tmp_path}/jobs.db"
    if request.param == "postgres":
        url = fresh(request.getfixturevalue("server_url"))
    with site_in(tmp_path, url) as site:
        yield site
