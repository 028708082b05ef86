"""The directories of a repository in the cache, and the locks that coordinate processes.

    <cache>/
      <repo>-<hash>/               the clone: source of truth
      <repo>-<hash>@<job-id>       → .<repo>-<hash>/current/jobs/<job-id>
      .<repo>-<hash>/
        lock                       held by the process that pulls, builds or swaps
        current                    → sets/<set>: the one name that is swapped
        sets/<set>/                the directories of all jobs at one revision: written once
          set.json  config         which revision, which jobs, in which boot; the file they came from
          lock                     shared by every process that may start a run in it
          jobs/<job-id>/           the snapshot of a job
          pins/<job-id>            shared by every process that has a run in that snapshot
        work/                      unfinished files; the holder of the lock may delete them

The operating system releases a lock when its process ends, however it ends. All locks are `flock`s, so they
also work between users within one process.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_JOB = re.compile(r"[A-Za-z0-9_-]{1,200}")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def is_job_id(name: str) -> bool:
    """Whether a name may become the name of a directory."""
    return _JOB.fullmatch(name) is not None


def this_boot() -> str:
    """The id of this boot of the host. A set of an earlier boot may be incomplete on the disk."""
    with suppress(OSError):
        return _BOOT.read_text().strip()
    return ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one repository in one cache."""

    root: Path
    slug: str

    @property
    def clone(self) -> Path:
        return self.root / self.slug

    @property
    def side(self) -> Path:
        return self.root / f".{self.slug}"

    @property
    def lock(self) -> Path:
        return self.side / "lock"

    @property
    def current(self) -> Path:
        return self.side / "current"

    @property
    def sets(self) -> Path:
        return self.side / "sets"

    @property
    def work(self) -> Path:
        return self.side / "work"

    def link(self, job: str) -> Path:
        """The name of a job's current snapshot, for people."""
        return self.root / f"{self.slug}@{job}"

    def links(self) -> dict[str, Path]:
        """The existing names, by job."""
        prefix = f"{self.slug}@"
        return {p.name.removeprefix(prefix): p for p in self.root.iterdir() if p.name.startswith(prefix)}

    def make(self) -> None:
        """Make the directories, closed to other users."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place in (self.side, self.sets, self.work):
            place.mkdir(mode=0o700, exist_ok=True)

    def set_of(self, identity: str) -> SnapshotSet:
        """A set by its name."""
        return SnapshotSet(self.sets / identity)

    def current_set(self) -> SnapshotSet | None:
        """The set that is current; None if there is none yet."""
        with suppress(OSError):
            return self.set_of(self.current.readlink().name)
        return None


@dataclass(frozen=True, slots=True)
class SnapshotSet:
    """The directories of all jobs at one revision."""

    path: Path

    @property
    def identity(self) -> str:
        return self.path.name

    @property
    def config(self) -> Path:
        return self.path / "config"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    def job(self, name: str) -> Path:
        """The snapshot of a job."""
        return self.path / "jobs" / name

    def pin(self, name: str) -> Path:
        """The file that a process locks while a run is in that snapshot."""
        return self.path / "pins" / name

    def note(self) -> dict[str, Any]:
        """The note of the set; empty if it cannot be read."""
        with suppress(OSError, ValueError):
            note = json.loads((self.path / "set.json").read_bytes())
            return note if isinstance(note, dict) else {}
        return {}

    def holds(self, jobs: Iterable[str]) -> bool:
        """Whether the set has a snapshot for each of these jobs."""
        return all(self.job(name).is_dir() and self.pin(name).exists() for name in jobs)


def take(path: Path, how: int, *, create: bool = False) -> int | None:
    """Open a file and lock it; None if another process has the lock, or if the file is gone."""
    flags = os.O_RDWR | (os.O_CREAT if create else 0)
    try:
        file = os.open(path, flags, 0o600)
    except FileNotFoundError:
        if create:
            raise
        return None
    try:
        fcntl.flock(file, how)
        if os.fstat(file).st_ino == path.stat().st_ino:
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    return None


def take_shared(path: Path) -> int | None:
    """Take a shared lock: while it is held, no process removes the directory."""
    return take(path, fcntl.LOCK_SH | fcntl.LOCK_NB)


def take_alone(path: Path) -> int | None:
    """Take the exclusive lock to remove a directory; None if a process uses it."""
    return take(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """Wait for the exclusive lock, and hold it."""
    while (file := take(path, fcntl.LOCK_EX, create=True)) is None:
        pass  # the file was replaced while we waited for it
    try:
        yield
    finally:
        os.close(file)
