"""What `make test` has time for; `make prove` also lets processes race, and runs each store's other ways."""

from __future__ import annotations

import pytest

_LONG = ("_processes_", "TestMongoStoreInThreads", "TestSqliteStoreWithNumbers")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "doors/documents" in item.nodeid and any(name in item.nodeid for name in _LONG):
            item.add_marker(pytest.mark.prove)
