"""Where runs find their files: the sets that this process keeps, and the runs in them.

A kept set is locked, and so is a snapshot with a run in it, so no process removes them. Two sets are kept:
the current one, and the one before, for runs whose definition is from just before a reload.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from foliot.model.frozen import is_alike
from foliot.model.job import Job
from foliot.protocols import Run, Snapshot
from foliot.sources.git.errors import SnapshotError
from foliot.sources.git.layout import Layout, SnapshotSet, take_shared

_KEPT = 2


class Place(NamedTuple):
    """The directory of a run, and the revision of its files."""

    path: Path
    revision: str


class _Known(NamedTuple):
    files: SnapshotSet
    revision: str
    jobs: Mapping[str, Job]
    lock: int


class _Pin:
    """A snapshot with runs in it; one lock for all of them."""

    def __init__(self, path: Path, file: int) -> None:
        self.path = path
        self.file = file
        self.runs = 0


class Snapshots:
    """The directories of shell jobs. `has`, `enter` and `leave` are quick, and any thread may call them."""

    def __init__(self, repository: str, layout: Layout | None = None) -> None:
        self._repository = repository
        self._layout = layout
        self._guard = Lock()
        self._known: list[_Known] = []
        self._pins: dict[Path, _Pin] = {}
        self._runs: dict[tuple[str, int, int], _Pin] = {}
        self._seen: set[str] = set()  # revisions that were current here

    @property
    def revision(self) -> str | None:
        """The revision of the current set."""
        with self._guard:
            return self._known[0].revision if self._known else None

    def is_whole(self) -> bool:
        """Whether all snapshots of the current set still exist; another program may empty the cache."""
        with self._guard:
            current = self._known[0] if self._known else None
        return current is not None and current.files.holds(current.jobs)

    def adopt(self, files: SnapshotSet, snapshot: Snapshot) -> None:
        """Use this set for runs that start from now on."""
        lock = take_shared(files.lock)
        if lock is None:
            raise SnapshotError(self._repository, f"the snapshots of {snapshot.revision[:12]} are gone")
        with self._guard:
            jobs = {job.name: job for job in snapshot.jobs}
            self._seen |= {snapshot.revision, *(job.revision for job in snapshot.jobs)}
            if self._known and self._known[0].files == files:
                os.close(self._known.pop(0).lock)
            self._known.insert(0, _Known(files, snapshot.revision, jobs, lock))
            for old in self._known[_KEPT:]:
                os.close(old.lock)
            del self._known[_KEPT:]

    def has(self, job: Job) -> bool:
        """Whether this process has the files of this job's definition."""
        with self._guard:
            try:
                files, _ = self._choose(job)
            except SnapshotError:
                return False
        return files.holds((job.name,))

    def enter(self, run: Run) -> Place:
        """The snapshot for a run; it stays while the run is in it. SnapshotError if there is none."""
        with self._guard:
            files, revision = self._choose(run.job)
            path = files.job(run.job.name)
            pin = self._pins.get(path) or self._pinned(files, run.job.name)
            pin.runs += 1
            self._pins[path] = pin
            self._runs[_key(run)] = pin
            return Place(path, revision)

    def leave(self, run: Run) -> None:
        """The run is over."""
        with self._guard:
            pin = self._runs.pop(_key(run), None)
            if pin is None:
                return
            pin.runs -= 1
            if not pin.runs:
                del self._pins[pin.path]
                os.close(pin.file)

    def close(self) -> None:
        """Release all locks, like the end of the process."""
        with self._guard:
            for file in (*(known.lock for known in self._known), *(pin.file for pin in self._pins.values())):
                os.close(file)
            self._known.clear()
            self._pins.clear()
            self._runs.clear()

    def _choose(self, job: Job) -> tuple[SnapshotSet, str]:
        """The newest set with the same definition; else one of another process; else one of its revision.

        The last case: another version of Foliot read the same file and wrote the definition differently.
        """
        having = [known for known in self._known if job.name in known.jobs]
        for known in having:
            if is_alike(known.jobs[job.name].action.data, job.action.data):
                return known.files, known.revision
        if found := self._of_another(job):
            return found
        for known in having:
            if job.revision in ("", known.revision):
                return known.files, known.revision
        raise SnapshotError(
            self._repository,
            f"there is no snapshot for the job {job.name} as it is defined at {job.revision[:12]}",
            hint="it was not pulled here yet, or has left the repository; the next pull tells",
        )

    def _of_another(self, job: Job) -> tuple[SnapshotSet, str] | None:
        """Look into the current set: another process may have pulled a new job and made that set."""
        current = self._layout.current_set() if self._layout else None
        if current is None or not current.holds((job.name,)):
            return None
        revision = str(current.note().get("revision"))
        is_newer = revision not in self._seen or revision == job.revision
        return (current, revision) if is_newer else None

    def _pinned(self, files: SnapshotSet, job: str) -> _Pin:
        file = take_shared(files.pin(job)) if files.job(job).is_dir() else None
        if file is None:
            raise SnapshotError(
                self._repository,
                f"the snapshot of the job {job} is gone",
                hint="the next pull makes it again",
            )
        return _Pin(files.job(job), file)


def _key(run: Run) -> tuple[str, int, int]:
    return run.attempt.run_key, run.attempt.number, run.attempt.token
