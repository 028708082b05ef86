"""Snapshot sets on the disk: built aside, published by one rename, removed when no process uses them.

A set is complete before it gets its name, and the names of all jobs lead through one link, `current`. So a
process that dies at any step leaves the old set or the new one, never a mix of both.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from foliot.errors import shorten
from foliot.sources.git.clone import Clone
from foliot.sources.git.errors import SnapshotError, TreeRefusedError
from foliot.sources.git.folder import Folder
from foliot.sources.git.layout import Layout, SnapshotSet, is_job_id, take_alone, take_shared, this_boot
from foliot.sources.git.tree import BadTreeError, Limits, Tree, check_listing

_FORMAT = 1


class Builder:
    """Makes, shows and removes sets. Blocks: for the git process."""

    def __init__(
        self,
        layout: Layout,
        clone: Clone | Folder,
        shown: str,
        *,
        limits: Limits | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._layout = layout
        self._clone = clone
        self._shown = shown
        self._limits = limits or Limits()
        self._say = say

    def find(self, revision: str, jobs: Sequence[str], config: bytes) -> SnapshotSet | None:
        """The current set, if it is what these jobs need at that revision, and of this start of the host."""
        found = self._layout.current_set()
        if found is None:
            return None
        note = found.note()
        is_right = note.get("revision") == revision and note.get("boot") == this_boot()
        is_whole = sorted(note.get("jobs", ())) == sorted(jobs) and found.holds(jobs)
        with suppress(OSError):
            return found if is_right and is_whole and found.config.read_bytes() == config else None
        return None

    def build(self, revision: str, jobs: Sequence[str], config: bytes) -> SnapshotSet:
        """Make the snapshots of all jobs at a revision; they are not visible yet.

        Needs the repository's lock.
        """
        place = self._layout.work / f"{revision[:12]}-{token_hex(4)}"
        if bad := [job for job in jobs if not is_job_id(job)]:
            raise TreeRefusedError(self._shown, f"{shorten(bad[0])} is no name for a directory")
        try:
            for folder in (place, place / "jobs", place / "pins"):
                folder.mkdir(mode=0o700)
            self._fill(place, revision, jobs)
            for name in ("config", "lock", "set.json"):
                (place / name).touch(mode=0o600)
            (place / "config").write_bytes(config)
            note = {"format": _FORMAT, "revision": revision, "jobs": list(jobs), "boot": this_boot()}
            (place / "set.json").write_text(json.dumps(note))
            made = self._layout.set_of(place.name)
            self.hold(SnapshotSet(place))  # before it can be seen: one who sweeps would take it for forgotten
            place.rename(made.path)
        except BadTreeError as error:
            raise TreeRefusedError(
                self._shown, f"{revision[:12]} is refused: {shorten(str(error))}"
            ) from error
        except OSError as error:
            raise SnapshotError(
                self._shown,
                f"no snapshots could be made of {revision[:12]}: {shorten(error.strerror or str(error))}",
                hint=f"is there room in {self._layout.root}, and may it be written?",
            ) from error
        finally:
            erase(place)
        return made

    def hold(self, held: SnapshotSet) -> None:
        """Keep a set from being removed, for as long as this process lives."""
        take_shared(held.lock)

    def show(self, made: SnapshotSet, jobs: Sequence[str]) -> None:
        """Make a set the current one, in one step, and let the names of jobs lead to it."""
        self._say("swapping")
        for job in jobs:
            self._name(job)
        self._point(self._layout.current, f"sets/{made.identity}")
        for job, link in self._layout.links().items():
            if job not in jobs and link.is_symlink():
                link.unlink(missing_ok=True)

    def clear(self) -> None:
        """Throw away what killed processes have left. Needs the repository's lock."""
        for left in self._layout.work.iterdir():
            with suppress(OSError):
                erase(left)

    def sweep(self) -> None:
        """Remove the sets that are not current and that no process has in mind, but for snapshots in use."""
        for path in self._layout.sets.iterdir():
            current = self._layout.current_set()
            if current is None or current.path != path:
                with suppress(OSError):  # the others go all the same
                    _remove(SnapshotSet(path))

    def _fill(self, place: Path, revision: str, jobs: Sequence[str]) -> None:
        self._say("reading the files of the revision")
        with self._clone.listing(revision) as stream:
            check_listing(stream, self._limits)
        with Tree(place / "spool", self._limits) as tree:
            with self._clone.archive(revision) as stream:
                tree.read(stream)
            self._say("writing snapshots")
            for done, job in enumerate(jobs):
                self._check_room(tree, len(jobs) - done)
                tree.write(place / "jobs" / job)
                (place / "pins" / job).touch(mode=0o600)

    def _check_room(self, tree: Tree, copies: int) -> None:
        """For all that are still to be written: rather none than half of them, and a full disk."""
        disk = os.statvfs(self._layout.work)
        if disk.f_bavail * disk.f_frsize < tree.size * copies + self._limits.reserve:
            raise OSError(0, f"there is too little room on the disk for {copies} times {tree.size} bytes")
        if disk.f_files and disk.f_favail < tree.count * copies:
            raise OSError(0, f"there is no room on the disk for {copies} times {tree.count} files")

    def _name(self, job: str) -> None:
        link, target = self._layout.link(job), f".{self._layout.slug}/current/jobs/{job}"
        with suppress(OSError):
            if str(link.readlink()) == target:
                return
        if link.is_dir() and not link.is_symlink():  # of a program before us
            link.rename(self._layout.work / f"{job}-{token_hex(4)}")
        self._point(link, target)

    def _point(self, link: Path, target: str) -> None:
        """Let a link lead elsewhere, in one step."""
        new = self._layout.work / token_hex(8)
        new.symlink_to(target)
        new.rename(link)


def erase(path: Path) -> None:
    """Remove whatever is there; what a job has made unwritable, too. What cannot be removed stays."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    with suppress(RecursionError):  # a job may have nested directories by the thousand
        shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        for words in (("chmod", "-R", "u+rwx"), ("rm", "-rf")):  # which have no such bound
            subprocess.run(  # noqa: S603 - a path of ours, and no shell is asked
                [*words, "--", str(path)], check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )


def _remove(old: SnapshotSet) -> None:
    """Remove the unused parts of a set. If the process dies here, the next one removes the rest."""
    lock = take_alone(old.lock)
    if lock is None and old.lock.exists():
        return
    try:
        pins = old.path / "pins"
        for name in [pin.name for pin in pins.iterdir()] if pins.is_dir() else []:
            pin = take_alone(old.pin(name))
            if pin is not None:
                erase(old.job(name))
                old.pin(name).unlink(missing_ok=True)
                os.close(pin)
        if not pins.is_dir() or not any(pins.iterdir()):
            erase(old.path)
    finally:
        if lock is not None:
            os.close(lock)
