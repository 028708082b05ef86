"""One server for the session; a test gets a schema of its own. What starts programs belongs to the proofs."""

from __future__ import annotations

import pytest

from stores.postgres.opening import fresh

_LONG = ("processes", "killed")  # each starts several programs: `threads` and `tasks` race as well


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "test_contract.py" in item.nodeid and any(word in item.name for word in _LONG):
            item.add_marker(pytest.mark.prove)


@pytest.fixture
def url(server_url: str) -> str:
    return fresh(server_url)
