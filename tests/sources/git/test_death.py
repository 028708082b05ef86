"""Kills at any moment, and damage: afterwards the old set or the new one, never a mix (R11, G2)."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from foliot.errors import FoliotError
from foliot.protocols import Snapshot
from foliot.sources.git.follow import GitSource
from foliot.sources.git.layout import Layout, alone_with
from sources.git.scene import CONFIG, Remote, a_run, following, git, names, new_source, played, shown, tidied

KILLS = int(os.environ.get("FOLIOT_KILLS", "100"))
PROGRAM = Path(__file__).with_name("doomed.py")
CONFIGS = ("a b c", "b c d e", "a", "e f")


def _commit(turn: int) -> str:
    """One commit, as `git fast-import` reads it: 32 files, of which three differ from the last one's."""
    config = CONFIGS[turn % len(CONFIGS)]
    files = {CONFIG: config, "turn": str(turn + 1), f"file{turn % 30}": str(turn)}
    if not turn:
        files |= {f"file{n}": str(n) for n in range(30)}
    lines = [f"M 100644 inline {name}\ndata {len(text)}\n{text}\n" for name, text in files.items()]
    return f"commit refs/heads/main\ncommitter n <n@example> {turn} +0000\ndata 0\n{''.join(lines)}\n"


class Pushed:
    """A remote whose next commits are made already, so that a push is one small write."""

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        path.mkdir()
        git(path, "init", "--quiet", "--initial-branch=main")
        git(path, "fast-import", "--quiet", given="".join(map(_commit, range(count))).encode())
        self.revisions = git(path, "rev-list", "--reverse", "main").split()
        self.configs = {sha: CONFIGS[turn % len(CONFIGS)] for turn, sha in enumerate(self.revisions)}
        self.at = 0
        self._put()

    def push(self) -> None:
        """One further, while there are any."""
        self.at += 1
        self._put()

    def _put(self) -> None:
        (self.path / ".git/refs/heads/main").write_text(self.revisions[self.at] + "\n")

    def check(self, layout: Layout) -> str:
        """What is current is one revision, whole; which one."""
        current = layout.current_set()
        assert current is not None
        revision = str(current.note()["revision"])
        jobs = self.configs[revision].split()
        turn = str(self.revisions.index(revision) + 1)
        assert current.config.read_text() == self.configs[revision]
        assert sorted(path.name for path in (current.path / "jobs").iterdir()) == jobs
        for job in jobs:
            files = {path.name: path.read_text() for path in current.job(job).iterdir()}
            assert files["turn"] == turn
            assert files[CONFIG] == self.configs[revision]
            assert len(files) == 32
            assert layout.link(job).resolve() == current.job(job)
        return revision


def children() -> list[int]:
    """The git processes of this one. A thread, or a process, may end while it is looked at."""
    found: list[int] = []
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found += [int(word) for word in file.read_text().split()]
    return [pid for pid in found if b"foliot.sources.git" in command_of(pid)]


def command_of(pid: int) -> bytes:
    """The command line of a process; nothing if the process is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found by /proc")
def test_a_process_that_is_gone_is_nobody_s_child() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert command_of(gone.pid) == b""
    assert gone.pid not in children()


@pytest.mark.prove
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found by /proc")
@played
async def test_a_git_process_that_is_killed_at_any_moment_leaves_old_or_new(tmp_path: Path) -> None:
    kills = KILLS * 3 // 4
    chance = random.Random(11)  # noqa: S311 - no secret
    pushed = Pushed(tmp_path / "project", 5 * kills + 10)
    async with following(pushed.path, tmp_path / "cache") as source:
        await source.start()
        building = _announced(source)
        seen, killed, windows = set(), 0, [0.3, 0.3]
        for turn in range(5 * kills):
            pushed.push()
            building.clear()
            task = asyncio.create_task(source.refresh())
            if turn % 2:  # in the second half of the work as often as anywhere
                await asyncio.wait(
                    [task, asyncio.create_task(building.wait())], return_when="FIRST_COMPLETED"
                )
            await asyncio.wait([task], timeout=chance.uniform(0.0, windows[turn % 2]))
            windows[turn % 2] *= 0.8 if task.done() else 1.1  # some come through, however busy the host is
            for pid in children():
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
            await asyncio.wait([task])
            assert task.exception() is None or isinstance(task.exception(), FoliotError)
            with alone_with(source.layout.lock):
                seen.add(pushed.check(source.layout))
            _check_place(source, pushed)
            if killed >= kills:
                break
        assert killed >= kills
        await source.refresh()
        await tidied(source)
        assert len(seen) > 3, "some came through"
        assert len(list(source.layout.sets.iterdir())) <= 3
        assert list(source.layout.work.iterdir()) == []


def _announced(source: GitSource) -> asyncio.Event:
    """Is set when a source begins to build."""
    building, build = asyncio.Event(), source._build

    async def announce(snapshot: Snapshot, config: str) -> None:
        building.set()
        await build(snapshot, config)

    source._build = announce  # type: ignore[method-assign]  # it does the same, and tells when
    return building


def _check_place(source: GitSource, pushed: Pushed) -> None:
    """What runs would get is whole, too, and as the source says."""
    revision = source.snapshots.revision
    assert revision is not None
    name = pushed.configs[revision].split()[0]
    place = source.snapshots.enter(a_run(name))
    assert (place.path / "turn").read_text() == str(pushed.revisions.index(place.revision) + 1)
    source.snapshots.leave(a_run(name))


@pytest.mark.prove
def test_a_daemon_that_is_killed_at_any_moment_leaves_old_or_new(tmp_path: Path) -> None:
    kills = KILLS // 4
    chance = random.Random(7)  # noqa: S311 - no secret
    pushed = Pushed(tmp_path / "project", kills + 1)
    layout = new_source(pushed.path, tmp_path / "cache").layout
    words = [sys.executable, str(PROGRAM), str(pushed.path), str(tmp_path / "cache")]
    seen = set()
    for turn in range(kills):
        with subprocess.Popen(words, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own
            assert process.stdout is not None
            if turn % 4 == 0:
                process.stdout.readline()
            pushed.push()
            try:
                process.wait(timeout=chance.uniform(0.05, 0.5))
            except subprocess.TimeoutExpired:
                process.kill()
        with alone_with(layout.lock):  # its git process dies with it, and lets go
            seen.add(pushed.check(layout))
    assert len(seen) > 3

    asyncio.run(_goes_on(pushed, tmp_path / "cache"))


async def _goes_on(pushed: Pushed, cache: Path) -> None:
    async with following(pushed.path, cache) as source:
        snapshot = await source.start()
        await tidied(source)
        assert snapshot.revision == pushed.check(source.layout) == pushed.revisions[pushed.at]
        assert [path.name for path in source.layout.sets.iterdir()] == [source.layout.current.readlink().name]
        assert sorted(source.layout.links()) == sorted(names(snapshot)), "no name of a half-done swap is left"


DAMAGES: dict[str, Callable[[Path], object]] = {
    "stale locks": lambda git_dir: [
        (git_dir / f).write_text("") for f in ("index.lock", "HEAD.lock", "config.lock")
    ],
    "stale lock of a branch": lambda git_dir: (git_dir / "refs/heads/main.lock").write_text(""),
    "half-fetched pack": lambda git_dir: (git_dir / "objects/pack/tmp_pack_x").write_bytes(b"PACK"),
    "packs cut short": lambda git_dir: list(map(_cut, _objects(git_dir))),
    "no objects": lambda git_dir: list(map(Path.unlink, _objects(git_dir))),
    "no HEAD": lambda git_dir: (git_dir / "HEAD").unlink(),
    "HEAD of rubbish": lambda git_dir: (git_dir / "HEAD").write_bytes(b"\xff\x00rubbish"),
    "config of rubbish": lambda git_dir: (git_dir / "config").write_text("[[["),
    "branch of rubbish": lambda git_dir: (git_dir / "refs/heads/main").write_text("0" * 40),
    "index of rubbish": lambda git_dir: (git_dir / "index").write_text("rubbish"),
    "everything gone": shutil.rmtree,
}


def _objects(git_dir: Path) -> list[Path]:
    return [path for path in (git_dir / "objects").rglob("*") if path.is_file()]


def _cut(file: Path) -> None:
    file.chmod(0o600)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize("damage", DAMAGES)
@played
async def test_a_damaged_clone_heals(damage: str, tmp_path: Path) -> None:
    remote = Remote(tmp_path / "project")
    async with following(remote.path, tmp_path / "cache") as source:
        await source.start()
        await tidied(source)
        DAMAGES[damage](source.layout.clone / ".git")
        assert await source.refresh() is None
        assert shown(source, "a") == "1"

        DAMAGES[damage](source.layout.clone / ".git")
        remote.push("c")
        assert names(await source.refresh()) == ["c"]
        await tidied(source)
        assert git(source.layout.clone, "rev-parse", "HEAD") == remote.revision
        assert git(source.layout.clone, "status", "--short") == ""


@played
async def test_a_damaged_clone_costs_nothing_while_the_remote_is_away(tmp_path: Path) -> None:
    remote = Remote(tmp_path / "project")
    cache = tmp_path / "cache"
    async with following(remote.path, cache) as source:
        good = await source.start()
        await tidied(source)
        DAMAGES["packs cut short"](source.layout.clone / ".git")
        remote.hide()
        with pytest.raises(FoliotError):
            await source.refresh()
        assert source.snapshots.enter(a_run("a")).path.is_dir()
    async with following(remote.path, cache) as source:
        assert await source.start() == good
