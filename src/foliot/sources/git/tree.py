"""The files of a revision: read once from a tar stream, checked, and written out as often as there are jobs.

A repository is written by others, so nothing in it is believed. Files are written before any link is made,
each into a directory that we have just made ourselves, so nothing can be written through a link; a link is
made only if, followed through all links of the tree, it stays inside. That is what tarfile's filter "data"
promises, and stricter: that one asks the disk where a link leads, and some versions of it can be misled.

What is written holds no `.git`. Modes are 755 and 644, times are those of the commit. A submodule is an empty
directory, as `git archive` has it: it is never fetched.
"""

from __future__ import annotations

import mmap
import os
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

_BLOCK = 4096
_LARGE = 1 << 16
_PIECE = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_LONGEST_NAME = 255  # bytes, as file systems have it; the next three as Linux has them
_LONGEST_PATH = 3000  # what is left of 4096 is for the cache's own
_LONGEST_TARGET = 4095
_SHOWN = 60
_LAST_MOMENT = 1 << 40
_MOST_LINKS = 40  # as the kernel has it


class Limits(NamedTuple):
    """How much a revision may hold. Generous: they are for accidents and attacks."""

    files: int = 200_000
    size: int = 2 << 30
    depth: int = 60
    reserve: int = 64 << 20  # bytes of the disk that are left to others, to the store among them


class BadTreeError(Exception):
    """Something in a tree must not be written to a disk; the sentence names it."""


def check_listing(stream: IO[bytes], limits: Limits) -> None:
    """Count what `git ls-tree` lists, and stop at a limit. `git archive` reads all trees before it writes.

    A few hundred bytes of objects can stand for thousands of millions of files.
    """
    count = size = 0
    rest = b""
    while piece := stream.read(_PIECE):
        *rows, rest = (rest + piece).split(b"\0")
        for row in rows:
            facts, _, name = row.partition(b"\t")
            length = facts.split()[-1]
            count += 1
            size += int(length) if length.isdigit() else 0
            check_limits(limits, count, size, name.count(b"/") + 1, name.decode(errors="replace"))


def check_limits(limits: Limits, count: int, size: int, depth: int, name: str) -> None:
    """Refuse a tree that is too large with this name."""
    if count > limits.files:
        raise BadTreeError(f"it holds more than {limits.files} files and directories")
    if size > limits.size:
        raise BadTreeError(f"its files hold more than {limits.size} bytes, with {name!r}")
    if depth > limits.depth:
        raise BadTreeError(f"{name!r} is nested deeper than {limits.depth} directories")


class _File(NamedTuple):
    name: str
    mode: int
    start: int
    size: int


@dataclass(slots=True)
class _Directory:
    files: list[_File] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)


class Tree:
    """The checked files of a revision, in one temporary file. Use it with `with`."""

    def __init__(self, spool: Path, limits: Limits) -> None:
        self._limits = limits
        self._directories: dict[tuple[str, ...], _Directory] = {(): _Directory()}
        self._spool = spool.open("x+b")
        spool.unlink()
        self._map: mmap.mmap | None = None
        self._end = 0
        self._moment = 0
        self._links: dict[tuple[str, ...], str] = {}
        self._names: set[tuple[str, ...]] = set()
        self.count = 0
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._map is not None:
            self._map.close()
        self._spool.close()

    def read(self, stream: IO[bytes]) -> None:
        """Take a tar stream in. BadTreeError if anything in it is refused."""
        try:
            with tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errorlevel=2) as archive:
                while (member := archive.next()) is not None:
                    self._take(member, archive)
                    archive.members = []  # type: ignore[attr-defined]  # they would be kept for nothing
        except tarfile.TarError as error:
            raise BadTreeError(f"the archive cannot be read ({error})") from error
        while stream.read(_PIECE):
            pass  # what fills up the last record
        for path, target in self._links.items():
            if not stays_inside(path, target, self._links):
                raise BadTreeError(f"{'/'.join(path)} is a link that leads out of the repository: {target}")
        self._spool.flush()
        if self._end:
            self._map = mmap.mmap(self._spool.fileno(), 0, prot=mmap.PROT_READ)

    def write(self, place: Path) -> None:
        """Write all files into a new directory."""
        place.mkdir(mode=0o700)  # a run of another user opens it for that user
        for parts in sorted(self._directories):
            folder = place.joinpath(*parts)
            if parts:
                folder.mkdir(mode=0o755)
            self._write_files(folder, self._directories[parts].files)
        for parts, directory in self._directories.items():
            for name, target in directory.links:
                place.joinpath(*parts, name).symlink_to(target)
        for parts in sorted(self._directories, key=len, reverse=True):
            os.utime(place.joinpath(*parts), (self._moment, self._moment))

    def _take(self, member: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        parts = self._checked(member)
        self._moment = self._moment or int(member.mtime)
        if member.isdir():
            self._directory(parts)
            return
        directory = self._directory(parts[:-1])
        if member.issym():
            self._links[parts] = member.linkname
            directory.links.append((parts[-1], member.linkname))
            return
        if not member.isreg():
            raise BadTreeError(f"{member.name} is neither a file, nor a directory, nor a link")
        data = archive.extractfile(member)
        start = self._append(data, member) if data is not None else 0
        mode = 0o755 if member.mode & 0o100 else 0o644
        directory.files.append(_File(parts[-1], mode, start, member.size))

    def _directory(self, parts: tuple[str, ...]) -> _Directory:
        if parts not in self._directories:
            self._directory(parts[:-1])
            self._directories[parts] = _Directory()
        return self._directories[parts]

    def _checked(self, member: tarfile.TarInfo) -> tuple[str, ...]:
        name = member.name
        parts = tuple(name.rstrip("/").split("/"))
        if name.startswith("/") or any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise BadTreeError(f"{name!r} is a path that leads out of the repository, or nowhere")
        if any(_is_git(part) for part in parts):
            raise BadTreeError(f"{name!r} would be taken for git's own directory")
        _check_writable(member, parts)
        self.count += 1
        self.size += max(member.size, 0)
        check_limits(self._limits, self.count, self.size, len(parts), name)
        if parts in self._names or any(parts[:length] in self._links for length in range(1, len(parts))):
            raise BadTreeError(f"{name!r} is there twice, or lies behind a link")
        self._names.add(parts)
        return parts

    def _append(self, data: IO[bytes], member: tarfile.TarInfo) -> int:
        if member.size >= _LARGE:  # aligned, a file system that can share blocks will share them
            self._end = -(-self._end // _BLOCK) * _BLOCK
            self._spool.seek(self._end)
        start = self._end
        while piece := data.read(_PIECE):
            self._spool.write(piece)
            self._end += len(piece)
        if self._end - start != member.size:
            raise BadTreeError(f"{member.name!r} ends too early")
        return start

    def _write_files(self, folder: Path, files: list[_File]) -> None:
        if not files:
            return
        moment = (self._moment, self._moment)
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            for name, mode, start, size in files:
                file = os.open(name, _NEW, mode, dir_fd=here)
                try:
                    self._fill(file, start, size)
                    os.utime(file, moment)
                finally:
                    os.close(file)
        finally:
            os.close(here)

    def _fill(self, file: int, start: int, size: int) -> None:
        if self._map is None or not size:
            return
        copy: Callable[..., int] | None = getattr(os, "copy_file_range", None)
        done = 0
        while done < size:
            if copy is not None and size >= _LARGE:
                try:
                    done += copy(self._spool.fileno(), file, size - done, start + done, done)
                    continue
                except OSError:
                    copy = None  # not on this file system; if it is the disk that fails, writing tells
                    os.lseek(file, done, os.SEEK_SET)
            until = start + min(size, done + _PIECE)
            done += os.write(file, self._map[start + done : until])


def _check_writable(member: tarfile.TarInfo, parts: tuple[str, ...]) -> None:
    """What no disk takes is refused for good; else it would be tried for ever."""
    name = member.name
    if len(os.fsencode(name)) > _LONGEST_PATH or any(len(os.fsencode(p)) > _LONGEST_NAME for p in parts):
        raise BadTreeError(f"{name[:_SHOWN]!r}… is too long a name")
    if len(os.fsencode(member.linkname)) > _LONGEST_TARGET:
        raise BadTreeError(f"{name!r} is a link to too long a name")
    if not 0 <= member.mtime <= _LAST_MOMENT:
        raise BadTreeError(f"its date is no date for files: {member.mtime:.0f} seconds after 1970")


def _is_git(part: str) -> bool:
    """Whether some file system may take a name for `.git`."""
    plain = "".join(c for c in part if c.isascii()).rstrip(". ").lower().partition(":")[0]
    return plain in (".git", "git~1")


def stays_inside(path: tuple[str, ...], target: str, links: Mapping[tuple[str, ...], str]) -> bool:
    """Whether a link, followed through all links of its tree, never leaves it."""
    place = list(path[:-1])
    ahead = target.split("/")[::-1]
    if target.startswith("/") or not target or "\0" in target:
        return False
    followed = 0
    while ahead:
        part = ahead.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not place:
                return False
            place.pop()
            continue
        further = links.get((*place, part))
        if further is None:
            place.append(part)
            continue
        followed += 1
        if followed > _MOST_LINKS or further.startswith("/"):
            return False
        ahead.extend(further.split("/")[::-1])
    return True
