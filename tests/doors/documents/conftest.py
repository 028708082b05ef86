"""What `make test` has time for: processes race on MongoDB; `make prove` lets them race everywhere."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if (
            "doors/documents" in item.nodeid
            and "_processes_" in item.name
            and "TestMongoStore::" not in item.nodeid
        ):
            item.add_marker(pytest.mark.prove)
