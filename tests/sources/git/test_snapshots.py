"""Where runs work: directories of their own that stay as they are, and go when nobody needs them."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from foliot.model.run import Run
from foliot.protocols import Snapshot
from foliot.sources.git.errors import SnapshotError
from foliot.sources.git.follow import GitSource
from foliot.sources.git.layout import take_alone, take_shared
from foliot.sources.git.tree import Limits
from foliot.sources.git.worker import Worker
from sources.git.scene import Remote, a_run, following, job, names, played, shown, tidied, tree


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "project", files={"data/x": "x"})


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def directories(source: GitSource) -> list[str]:
    """The snapshots that are there, as job and revision."""
    return sorted(f"{p.name}@{p.parent.parent.name[:12]}" for p in source.layout.sets.glob("*/jobs/*"))


def facts(place: Path) -> dict[Path, tuple[int, ...]]:
    """What would tell of any change; reading is none."""
    found = {path: path.lstat() for path in place.rglob("*")}
    return {
        path: (is_.st_ino, is_.st_mode, is_.st_size, is_.st_nlink, is_.st_ctime_ns)
        for path, is_ in found.items()
    }


@pytest.mark.req("ROLL-23")
@played
async def test_no_job_sees_what_another_writes(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        await source.start()
        a, b = (source.snapshots.enter(a_run(name)).path for name in "ab")
        before = tree(b)
        with (a / "data" / "x").open("r+") as file:  # in place, as through a hard link
            file.write("y")
        (a / "new").write_text("new")
        (a / "turn").unlink()
        (a / "data").chmod(0o500)

        assert tree(b) == before
        assert {path.stat().st_nlink for path in b.rglob("*") if path.is_file()} == {1}


@pytest.mark.req("ROLL-07")
@played
async def test_a_run_is_undisturbed_by_ten_reloads(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        await source.start()
        first = remote.revision
        place = source.snapshots.enter(a_run("a"))
        before = facts(place.path)
        handle = os.open(place.path, os.O_RDONLY)
        for turn in range(10):
            remote.push("a b" if turn % 2 else "b", files={"data/x": str(turn)})
            await source.refresh()
            await tidied(source)

        assert facts(place.path) == before
        assert os.fstat(handle).st_nlink > 0
        os.close(handle)
        assert len(directories(source)) <= 1 + 2 + 2, "one in use, two sets in mind"
        assert f"a@{first[:12]}" in directories(source)

        source.snapshots.leave(a_run("a"))
        await source.refresh()
        await tidied(source)
        assert f"a@{first[:12]}" not in directories(source), "it goes when its run is over"
        assert len(list(source.layout.sets.iterdir())) == 2


@played
async def test_a_run_gets_the_files_of_its_own_definition(remote: Remote, cache: Path) -> None:
    old = remote.push("same:x changed:old gone:x")
    async with following(remote.path, cache) as source:
        await source.start()
        new = remote.push("same:x changed:new added:x")
        await source.refresh()

        words = {
            "same:x": new,
            "changed:old": old,
            "changed:new": new,
            "gone:x": old,
            "added:x": new,
            "changed:?": new,
        }
        assert {word: source.snapshots.enter(a_run(word)).revision for word in words} == words
        assert all(source.snapshots.has(a_run(word).job) for word in words)
        assert not source.snapshots.has(a_run("never").job)
        for word in words:
            source.snapshots.leave(a_run(word))
        with pytest.raises(SnapshotError, match="no snapshot for the job never"):
            source.snapshots.enter(a_run("never"))


@played
async def test_a_definition_that_only_another_host_has_pulled_gets_no_files_of_before(
    remote: Remote, cache: Path
) -> None:
    remote.push("a:old")
    async with following(remote.path, cache) as source:
        await source.start()
        newer = a_run("a:new")
        newer = Run(replace(newer.job, revision="f" * 40), newer.attempt)
        assert not source.snapshots.has(newer.job)
        with pytest.raises(SnapshotError, match="as it is defined at ffffffffffff"):
            source.snapshots.enter(newer)


@played
async def test_a_definition_of_before_gets_no_files_of_after_and_other_words_for_the_same_get_theirs(
    remote: Remote, cache: Path
) -> None:
    revisions = [remote.push("a:first")]
    async with following(remote.path, cache) as source:
        await source.start()
        for word in ("a:second", "a:third"):
            revisions.append(remote.push(word))
            await source.refresh()
        old = replace(a_run("a:first").job, revision=revisions[0])
        assert not source.snapshots.has(old), "its files have gone out of mind"

        reworded = a_run("a:third --in-other-words")
        reworded = Run(replace(reworded.job, revision=revisions[2]), reworded.attempt)
        assert source.snapshots.enter(reworded).revision == revisions[2]
        source.snapshots.leave(reworded)


@played
async def test_several_runs_of_a_job_share_its_snapshot_until_the_last_has_left(
    remote: Remote, cache: Path
) -> None:
    async with following(remote.path, cache) as source:
        await source.start()
        first = {source.snapshots.enter(a_run("a", number)).path for number in (1, 2)}
        assert len(first) == 1
        for _ in range(3):
            remote.push()
            await source.refresh()
        for number, is_there in ((1, True), (2, False)):
            source.snapshots.leave(a_run("a", number))
            await source.refresh()
            await tidied(source)
            assert first.copy().pop().exists() is is_there
        source.snapshots.leave(a_run("a", 2))
        assert not source.snapshots._pins


@played
async def test_leaving_gives_all_descriptors_back(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        await source.start()
        await tidied(source)
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are enough
        runs = [a_run("a", number) for number in range(100)]
        for run in runs:
            source.snapshots.enter(run)
        assert len(os.listdir("/proc/self/fd")) == before + 1  # noqa: PTH208 - the same
        for run in runs:
            source.snapshots.leave(run)
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - the same


@played
async def test_two_daemons_on_one_cache_do_each_other_no_harm(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as one, following(remote.path, cache) as other:
        assert names(await one.start()) == names(await other.start())
        place = other.snapshots.enter(a_run("a"))
        assert place == one.snapshots.enter(a_run("a")), "one set serves both"
        one.snapshots.leave(a_run("a"))
        for _ in range(4):
            remote.push()
            await one.refresh()
            await tidied(one)
        assert place.path.is_dir(), "the other one's run is still in there"
        assert other.snapshots.enter(a_run("b")).path.is_dir(), "the other one has not reloaded yet"

        for _ in range(3):
            remote.push()
            results = await asyncio.gather(one.refresh(), other.refresh())
            assert [result and result.revision for result in results] == [remote.revision] * 2
        assert one.snapshots.enter(a_run("b", 2)) == other.snapshots.enter(a_run("b", 2))


@played
async def test_a_cache_that_somebody_emptied_is_made_again(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        first = await source.start()
        await tidied(source)
        shutil.rmtree(cache)
        with pytest.raises(SnapshotError, match="gone"):
            source.snapshots.enter(a_run("a"))

        assert await source.refresh() == first, "the same revision, with its files"
        assert source.snapshots.enter(a_run("a")).path.is_dir()


@played
async def test_a_directory_of_another_program_gives_way(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        (cache / f"{source.layout.slug}@a" / "old").mkdir(parents=True)
        await source.start()
        assert shown(source, "a") == "1"


@played
async def test_what_a_job_has_made_unwritable_is_removed_all_the_same(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        await source.start()
        place = source.snapshots.enter(a_run("a")).path
        source.snapshots.leave(a_run("a"))
        (place / "data").chmod(0)
        place.chmod(0)
        for _ in range(3):
            remote.push()
            await source.refresh()
            await tidied(source)
        assert not place.exists()


@pytest.mark.req("ROLL-16")
@played
async def test_too_little_room_changes_nothing(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        good = await source.start()
        await tidied(source)
        before = tree(source.layout.sets)
        source._processes = type(source._processes)(
            source._processes.address, cache, source._processes.timeout, Limits(reserve=1 << 60)
        )
        remote.push("c")
        for _ in range(2):
            with pytest.raises(SnapshotError, match="too little room"):
                await source.refresh()
        assert source.status.revision == good.revision
        assert tree(source.layout.sets) == before
        assert list(source.layout.work.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    try:
        if subprocess.run(mount, check=False, capture_output=True).returncode:  # noqa: S603 - a test's own disk
            pytest.skip("a small disk cannot be mounted here: that needs root")
    except FileNotFoundError:
        pytest.skip("there is no mount program here")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)  # noqa: S603, S607 - what was mounted above


@pytest.mark.req("ROLL-16")
@played
async def test_a_full_disk_changes_nothing_and_heals(remote: Remote, small_disk: Path) -> None:
    async with following(remote.path, small_disk, limits=Limits(reserve=0)) as source:
        await source.start()
        await tidied(source)
        remote.push("c d e", files={"big": "x" * 1_500_000})
        for _ in range(2):
            with pytest.raises(SnapshotError):
                await source.refresh()
            assert list(source.layout.work.iterdir()) == []
        assert shown(source, "a") == "1"
        assert sorted(source.layout.links()) == ["a", "b"]

        remote.push("c", files={"big": "x"})
        assert names(await source.refresh()) == ["c"]


@played
async def test_every_snapshot_has_modes_and_times_of_its_commit(remote: Remote, cache: Path) -> None:
    (remote.path / "tool").write_text("#!/bin/sh\n")
    (remote.path / "tool").chmod(0o755)
    (remote.path / "link").symlink_to("data/x")
    remote.push(files={"large": "large" * 100_000, "empty": ""})
    async with following(remote.path, cache) as source:
        await source.start()
        place = source.snapshots.enter(a_run("a")).path

        assert {name: oct((place / name).stat().st_mode)[-3:] for name in ("tool", "turn", "data")} == {
            "tool": "755", "turn": "644", "data": "755"
        }  # fmt: skip
        assert len({path.lstat().st_mtime for path in place.rglob("*") if not path.is_symlink()}) == 1
        expected = tree(remote.path)
        assert tree(place) == {name: text for name, text in expected.items() if not name.startswith(".git")}


@played
async def test_a_set_that_nobody_has_seen_yet_is_not_swept_away(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        snapshot = await source.start()
        await tidied(source)
        request = {
            "address": asdict(source._processes.address),
            "root": str(cache),
            "limits": list(Limits()),
            "trusted": [],
        }
        builder = Worker(request)._builder
        made = builder.build(snapshot.revision, ["a"], b"a")
        builder.sweep()
        assert made.holds(["a"])


def test_locks_end_with_their_process(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from foliot.sources.git.layout import take_shared;"
        "take_shared(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    lock = tmp_path / "lock"
    lock.touch()
    with subprocess.Popen(  # noqa: S603 - our own
        [sys.executable, "-c", code, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert take_alone(lock) is None
        shared = take_shared(lock)
        assert shared is not None
        os.close(shared)
        process.kill()
    alone = take_alone(lock)
    assert alone is not None
    os.close(alone)


@played
async def test_an_adoption_of_what_is_gone_is_refused(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        with pytest.raises(SnapshotError, match="gone"):
            source.snapshots.adopt(source.layout.set_of("none"), Snapshot("r", (job("a"),)))
