"""The two sides of a plan: where each comes from, and which source it is.

PATH, or --head      the side that is to be: the work tree, a revision, a file, a program
--base, --state      the side that is: a revision, a file, or what a store had; else the store itself
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from foliot.cli.check import read_bytes
from foliot.doors.rollcron import FILE
from foliot.doors.rollcron.planned import read_planned
from foliot.doors.rollcron.yaml_tree import LARGEST_FILE
from foliot.engine.change import Code, PlanEffect, note
from foliot.errors import ConfigNotFoundError, SourceNotFoundError
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import Snapshot
from foliot.sources.git.address import parse_address
from foliot.sources.git.beside import Files, Noted, files_below, no_files
from foliot.sources.git.work_tree import WorkTree, find_work_tree

_SHORT = 7
_MOST_NAMED = 5
WORKING_TREE = "working tree"


class Side(NamedTuple):
    """The text of one side; `data` is None if it has no file. `commit` is None if it is no revision."""

    label: str
    data: bytes | None
    commit: str | None = None
    files: Files = no_files

    def texts(self, noted: Noted) -> dict[str, bytes]:
        """The texts of all files that were read, by name."""
        found = {name: text for some in noted.asked.values() for name, text in some.items()}
        return {**found, self.label: self.data or b""}


class Place:
    """The file that a plan is about, and the work tree that it lies in, if there is one."""

    def __init__(self, path: Path) -> None:
        self.file = path / FILE if path.is_dir() else path
        self.path = path
        self.tree: WorkTree | None = find_work_tree(self.file.parent, os.environ)

    @property
    def name(self) -> str:
        """The file's path within the work tree."""
        if self.tree is None:
            return self.file.name
        return self.file.resolve().relative_to(self.tree.top.resolve()).as_posix()

    def slugs(self) -> Iterator[str]:
        """The names that this repository may have as a source: by its path, then by its remotes."""
        yield parse_address(str(self.path.resolve())).slug
        if self.tree is not None:
            yield from (address.slug for address in self.tree.remotes())

    def side(self, given: str | None) -> Side:
        """The work tree, a file, or a revision."""
        if given is None:
            label = WORKING_TREE if self.tree else str(self.file)
            return Side(label, read_bytes(self.file), None, files_below(self.file.parent))
        if (file := Path(given)).is_file():
            return Side(given, read_bytes(file), None, files_below(file.parent))
        if self.tree is None:
            raise ConfigNotFoundError(given, hint=f"{self.path} is not in a git repository; give a file")
        blob = self.tree.read(given, self.name, LARGEST_FILE + 1)
        commit = self.tree.commit(given)
        label = commit[:_SHORT] if given in (commit, commit[:_SHORT]) else f"{given} ({commit[:_SHORT]})"
        return Side(label, None if blob is None else blob.data, commit, self.tree.files_at(commit))


def choose_source(given: str | None, place: Place, known: Iterable[str]) -> str:
    """Which source of a store is meant: the one that is named, or the one of this repository."""
    names = sorted(known)
    wanted = [given] if given is not None else list(place.slugs())
    for name in wanted:
        if name in names:
            return name
    if not names:
        hint = "the store has no source yet: compare with a revision by --base"
    else:
        stems = {name.rpartition("-")[0] or name: name for name in names}
        close = get_close_matches(wanted[0], names, n=1) or get_close_matches(
            wanted[0].rpartition("-")[0], stems, n=1
        )
        meant = stems.get(close[0], close[0]) if close else None
        listed = ", ".join(names[:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else "")
        hint = f"did you mean --source {meant}?" if meant else f"--source takes one of: {listed}"
    raise SourceNotFoundError(wanted[0], hint=hint)


# -- what a side declares --------------------------------------------------------------------------


class Declared(NamedTuple):
    """What a side declares, and what had to be guessed for it."""

    snapshot: Snapshot
    effects: tuple[PlanEffect, ...] = ()


def read_side(
    side: Side, source: str, stored: Mapping[str, Record], local: str | None, files: Files
) -> Declared:
    """The jobs of a side; none if it has no file."""
    if side.data is None:
        return Declared(Snapshot(side.label, ()))
    found = read_planned(side.data, source=source, file=side.label, files=files, stored=stored, local=local)
    return Declared(Snapshot(side.label, found.jobs), found.effects)


def files_effect(
    tree: WorkTree | None, base: str | None, head: Side, file: str, jobs: Callable[[], Iterable[Job]]
) -> tuple[PlanEffect, ...]:
    """What is said if no definition changes, but files do."""
    if tree is None or base is None or (head.commit is None and head.label != WORKING_TREE):
        return ()
    changed = [name for name in tree.changed_files(base, head.commit) if name != file]
    if not changed:
        return ()
    users = [job.name for job in jobs() if _mentions(job, changed)]
    named = ", ".join(users[:_MOST_NAMED]) + (" …" if len(users) > _MOST_NAMED else "")
    who = f"; run of {named} mentions them" if users else ""
    differ = "1 file differs" if len(changed) == 1 else f"{len(changed):,} files differ"
    return (note(Code.FILES_ONLY, f"no run moves; {differ}{who}"),)


def _mentions(job: Job, files: Iterable[str]) -> bool:
    run = job.action.data.get("run", "")
    text = run if isinstance(run, str) else " ".join(map(str, run))
    return any(name in text or name.rpartition("/")[2] in text for name in files)
