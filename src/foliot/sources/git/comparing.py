"""Which files of a work tree differ from a revision, by their hashes. Git is not asked to read a file.

`git diff` would run the programs that `filter.*.clean` names. So a file counts as it lies there: one that
such a filter changes, as git-lfs does, differs.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_SHA1 = 40  # digits
_PIECE = 1 << 20
_LINK, _PROGRAM, _MODULE = "120000", "100755", "160000"


class Listed(NamedTuple):
    """A file as a revision has it."""

    mode: str
    blob: str
    size: int


def read_listing(listing: bytes) -> dict[str, Listed]:
    """The files that `git ls-tree -r -l -z` has listed, by name; submodules are left out."""
    rows = (row.partition(b"\t") for row in listing.split(b"\0") if row)
    found = ((os.fsdecode(name), facts.decode().split()) for facts, _, name in rows)
    return {name: Listed(facts[0], facts[2], int(facts[3])) for name, facts in found if facts[0] != _MODULE}


def differing(top: Path, listed: dict[str, Listed]) -> Iterator[str]:
    """The names of files that are not below a directory as they were listed."""
    return (name for name, one in listed.items() if not _is_same(top / name, one))


def _is_same(file: Path, listed: Listed) -> bool:
    try:
        found = file.lstat()
        if found.st_size != listed.size:
            return False
        if stat.S_ISLNK(found.st_mode):
            return listed.mode == _LINK and _hash_of([os.fsencode(file.readlink())], listed) == listed.blob
        is_program = bool(found.st_mode & stat.S_IXUSR)
        if not stat.S_ISREG(found.st_mode) or listed.mode == _LINK or is_program != (listed.mode == _PROGRAM):
            return False
        return _hash_of(_pieces(file), listed) == listed.blob
    except OSError:  # it is gone, or cannot be read
        return False


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(_PIECE):
            yield piece


def _hash_of(pieces: Iterator[bytes] | list[bytes], listed: Listed) -> str:
    kind = "sha1" if len(listed.blob) == _SHA1 else "sha256"
    found = hashlib.new(kind, b"blob %d\0" % listed.size, usedforsecurity=False)
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()
