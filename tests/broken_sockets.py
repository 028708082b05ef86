"""Sockets that kombu leaves open when its broker goes away: the garbage collector closes them, and warns.

The warning would fail a test that has nothing to do with it: the one in which the collector comes by.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


def expect_broken_sockets(items: list[pytest.Item], folder: Path) -> None:
    """Tests in a folder may meet such a warning."""
    words = "ignore:.*<socket.socket:pytest.PytestUnraisableExceptionWarning"
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker(pytest.mark.filterwarnings(words))


def collect_broken_sockets() -> Iterator[None]:
    """Let the collector come by when a file of tests is done."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
