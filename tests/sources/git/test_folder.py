"""A directory or a file without git is followed as a repository is."""

from __future__ import annotations

import asyncio
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from foliot.errors import ConfigNotFoundError, InvalidJobError
from foliot.sources.git.address import parse_address
from foliot.sources.git.errors import GitError, RemoteUnavailableError, SnapshotError, TreeRefusedError
from foliot.sources.git.folder import Folder
from foliot.sources.git.layout import Layout
from foliot.sources.git.tree import Limits
from sources.git.scene import CONFIG, a_run, following, names, tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "jobs"
    (path / "sub" / "empty").mkdir(parents=True)
    (path / CONFIG).write_text("one two")
    (path / "sub" / "tool").write_text("#!/bin/sh\n")
    (path / "sub" / "tool").chmod(0o700)
    (path / "link").symlink_to("sub/tool")
    return path


def test_a_directory_is_copied_for_each_job_and_again_when_it_changes(folder: Path, tmp_path: Path) -> None:
    async def scene() -> None:
        async with following(folder, tmp_path / "cache") as source:
            first = await source.start()
            place = source.snapshots.enter(a_run("one"))
            assert names(first) == ["one", "two"]
            assert tree(place.path) == tree(folder)
            assert os.access(place.path / "sub" / "tool", os.X_OK)
            assert await source.refresh() is None

            (folder / "sub" / "tool").write_text("#!/bin/sh\n# more\n")
            second = await source.refresh()
            assert second is not None
            assert second.revision != first.revision
            assert (place.path / "sub" / "tool").read_text() == "#!/bin/sh\n"  # it never changes under a run
            assert (
                source.snapshots.enter(a_run("two")).path.joinpath("sub/tool").read_text().endswith("more\n")
            )

            (folder / CONFIG).write_text("bad")
            with pytest.raises(InvalidJobError):
                await source.refresh()
            (folder / CONFIG).write_text("one two")
            back = await source.refresh()
            assert back is None or back.revision == second.revision

    asyncio.run(scene())


def test_a_file_is_copied_alone(folder: Path, tmp_path: Path) -> None:
    async def scene() -> None:
        async with following(folder / CONFIG, tmp_path / "cache") as source:
            await source.start()
            assert list(tree(source.snapshots.enter(a_run("one")).path)) == [CONFIG]

    asyncio.run(scene())


@pytest.mark.parametrize(
    "change",
    [
        lambda path: (path / "new").touch(),
        lambda path: (path / "sub" / "empty").rmdir(),
        lambda path: (path / "sub" / "tool").chmod(0o600),
        lambda path: (path / "sub" / "tool").rename(path / "sub" / "other"),
        lambda path: ((path / "link").unlink(), (path / "link").symlink_to("sub")),
    ],
)
def test_every_change_is_another_revision(
    folder: Path, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    before = folder_of(folder, tmp_path).pull()
    assert folder_of(folder, tmp_path).pull() == before
    change(folder)
    assert folder_of(folder, tmp_path).pull() != before


def folder_of(path: Path, tmp_path: Path, limits: Limits | None = None) -> Folder:
    address = parse_address(str(path))
    assert address.is_plain
    layout = Layout(tmp_path / "cache", address.slug)
    layout.make()
    return Folder(layout, address, limits or Limits())


def test_a_change_during_the_copy_is_noticed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = folder_of(folder, tmp_path)
    revision = plain.pull()

    @contextmanager
    def late(*_: object, **__: object) -> Iterator[IO[bytes]]:
        (folder / CONFIG).write_text("one three")
        monkeypatch.undo()
        with tarfile.open(tmp_path / "x.tar", "w") as archive:
            yield archive  # type: ignore[misc] # it is written to

    monkeypatch.setattr("foliot.sources.git.folder.tarfile.open", late)
    with pytest.raises(SnapshotError, match="changed while it was copied"), plain.archive(revision):
        pass


def test_what_cannot_be_taken_is_told(folder: Path, tmp_path: Path) -> None:
    plain = folder_of(folder, tmp_path)
    with pytest.raises(TreeRefusedError, match="more than 2 files"):
        folder_of(folder, tmp_path, Limits(files=2)).pull()
    os.mkfifo(folder / "pipe")
    with pytest.raises(TreeRefusedError, match="'pipe' is neither a file"):
        plain.pull()
    (folder / CONFIG).unlink()
    with pytest.raises(ConfigNotFoundError):
        plain.config("", CONFIG)
    folder.rename(tmp_path / "away")
    with pytest.raises(RemoteUnavailableError, match="cannot be read"):
        plain.pull()


def test_a_cache_inside_of_the_directory_is_refused(folder: Path) -> None:
    with pytest.raises(GitError, match="the cache lies inside of it"):
        folder_of(folder, folder).pull()


def test_a_path_inside_of_a_repository_means_the_repository(folder: Path) -> None:
    (folder / ".git").mkdir()
    assert not parse_address(str(folder)).is_plain
    assert not parse_address(str(folder / CONFIG)).is_plain
    assert parse_address(str(folder / CONFIG)).shown == str(folder)


def test_a_directory_without_a_file_of_jobs_is_left_to_git(tmp_path: Path) -> None:
    assert not parse_address(str(tmp_path)).is_plain
