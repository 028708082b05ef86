"""The files that an import writes: all or none, and never through a link that stands in their place.

An import is often run as root, into a directory in which other users may have laid links.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from uuid import uuid4

from foliot.errors import FoliotError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_WRITE = 0o666


def write_files(folder: Path, files: Mapping[str, str], *, force: bool) -> list[str]:
    """Write all files, or none if one is there already. A name is that of a file, or DIRECTORY/FILE."""
    for name in files:
        _refuse_odd(folder, folder / name)
    there = [name for name in files if os.path.lexists(folder / name)]
    if there and not force:
        hint = "give another directory with --to, or write over it with --force"
        raise FoliotError(f"{folder / there[0]} is there already: nothing was written", hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        written = [_write_beside(folder, PurePosixPath(name), text, stack) for name, text in files.items()]
        for handle, beside, name in written:
            os.replace(beside, name, src_dir_fd=handle, dst_dir_fd=handle)
    return [str(folder / name) for name in files]


def _refuse_odd(folder: Path, path: Path) -> None:
    """FoliotError for what --force cannot write over, either."""
    home, hint = path.parent, "remove it, or give another directory with --to"
    if home != folder and home.is_symlink():
        raise FoliotError(f"{home} is a symbolic link: nothing was written", hint=hint)
    if home != folder and os.path.lexists(home) and not home.is_dir():
        raise FoliotError(f"{home} is no directory: nothing was written", hint=hint)
    if path.is_dir() and not path.is_symlink():
        raise FoliotError(f"{path} is a directory: nothing was written", hint=hint)


def _write_beside(folder: Path, name: PurePosixPath, text: str, stack: ExitStack) -> tuple[int, str, str]:
    """Write a new file into the directory of a name: the open directory, and both names."""
    # The directory is held open, so a link that is laid from now on leads nowhere.
    handle = os.open(folder, _FOLDER)
    stack.callback(os.close, handle)
    if name.parent.name:
        with suppress(FileExistsError):
            os.mkdir(name.parent.name, dir_fd=handle)
        handle = os.open(name.parent.name, _FOLDER | os.O_NOFOLLOW, dir_fd=handle)
        stack.callback(os.close, handle)
    beside = f".{name.name}.{uuid4().hex}"
    file = os.open(beside, _NEW, _mode(handle, name.name), dir_fd=handle)
    stack.callback(_remove, handle, beside)
    with os.fdopen(file, "w", encoding="utf-8") as opened:
        opened.write(text)
    return handle, beside, name.name


def _mode(handle: int, name: str) -> int:
    """Who may read a file: not more people than can read the one that it takes the place of."""
    with suppress(FileNotFoundError):
        found = os.stat(name, dir_fd=handle, follow_symlinks=False)
        if S_ISREG(found.st_mode):
            return found.st_mode & _READ_WRITE
    return _READ_WRITE


def _remove(handle: int, beside: str) -> None:
    """Remove a file that has not come into its place."""
    with suppress(OSError):
        os.unlink(beside, dir_fd=handle)
