"""A disk so small that a test may fill it; to have one takes root."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of its own in a folder; the test is skipped where that cannot be."""
    folder.mkdir()
    if mount("-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)):
        pytest.skip("a small disk cannot be mounted here: that needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S603, S607 - what was mounted above


def mount(*arguments: str) -> int:
    """Call `mount`; 0 if it has done it."""
    try:
        done = subprocess.run(["mount", *arguments], check=False, capture_output=True)  # noqa: S603, S607 - a test's own disk
    except FileNotFoundError:
        return 1
    return done.returncode


def fill(disk: Path) -> Path:
    """Take all the space that there is."""
    file = disk / "rubbish"
    with file.open("ab", buffering=0) as out:
        for size in (65536, 1):
            with suppress(OSError):
                while out.write(b"x" * size):
                    pass
    return file
