"""Sets on the disk: what is in the way of removing one, and that there is room for all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from foliot.sources.git.build import erase
from foliot.sources.git.errors import SnapshotError
from foliot.sources.git.tree import Limits
from sources.git.scene import Remote, a_run, following, played, tidied

DEEP = "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\nos.chmod('.', 0)"


def dig(place: Path) -> None:
    """Nest directories as a job could; longer than any path may be, so nobody can name the last."""
    subprocess.run([sys.executable, "-c", DEEP], cwd=place, check=True)  # noqa: S603 - our own program


def test_what_is_nested_deeper_than_any_path_is_erased(tmp_path: Path) -> None:
    place = tmp_path / "deep"
    place.mkdir()
    dig(place)
    erase(place)
    assert not place.exists()


@played
async def test_what_a_job_has_nested_deeply_does_not_stop_the_sweeping(tmp_path: Path) -> None:
    remote = Remote(tmp_path / "project")
    async with following(remote.path, tmp_path / "cache") as source:
        await source.start()
        dig(source.snapshots.enter(a_run("a")).path)
        source.snapshots.leave(a_run("a"))
        for _ in range(4):
            remote.push()
            await source.refresh()
            await tidied(source)
        assert len(list(source.layout.sets.iterdir())) == 2


@played
async def test_room_is_asked_for_all_jobs_before_the_first_is_written(tmp_path: Path) -> None:
    remote = Remote(tmp_path / "project", "a b c d", files={"large": "x" * 100_000})
    cache = tmp_path / "cache"
    cache.mkdir()
    disk = os.statvfs(cache)
    room = disk.f_bavail * disk.f_frsize
    limits = Limits(reserve=room + (1 << 40))
    async with following(remote.path, cache, limits=limits) as source:
        with pytest.raises(SnapshotError, match="for 4 times 10"):
            await source.start()
        assert list(source.layout.work.iterdir()) == []
