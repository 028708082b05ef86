"""One server for the session; a test gets a schema of its own.

What starts programs belongs to the proofs, and what makes a schema for each of many examples: `make test` has
those laws of memory, SQLite and Redis.
"""

from __future__ import annotations

import pytest

from stores.postgres.opening import fresh

_LONG = ("processes", "killed")  # each starts several programs: `threads` and `tasks` race as well
_MANY_SCHEMAS = "one_by_one"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "test_contract.py" in item.nodeid and any(word in item.name for word in _LONG):
            item.add_marker(pytest.mark.prove)
        if "stores/postgres/test_contract.py" in item.nodeid and _MANY_SCHEMAS in item.name:
            item.add_marker(pytest.mark.prove)


@pytest.fixture
def url(server_url: str) -> str:
    return fresh(server_url)
