from __future__ import annotations

from pathlib import Path

import pytest

from broken_sockets import collect_broken_sockets, expect_broken_sockets

clean_up = pytest.fixture(scope="module", autouse=True)(collect_broken_sockets)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    expect_broken_sockets(items, Path(__file__).parent)
