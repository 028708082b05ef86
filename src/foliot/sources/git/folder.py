"""A directory or a file without git, in the place of a clone: what is there now is its only revision.

The revision is a digest of all names and contents. If a copy has another digest, the directory changed during
the copy: the copy is thrown away, and the next pull tries again.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from foliot.errors import ConfigNotFoundError
from foliot.sources.git.address import Address
from foliot.sources.git.beside import pick
from foliot.sources.git.errors import GitError, RemoteUnavailableError, SnapshotError, TreeRefusedError
from foliot.sources.git.layout import Layout
from foliot.sources.git.tree import BadTreeError, Limits, check_limits

_DIGITS = 40  # the length of a commit's id
_PIECE = 1 << 20
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Folder:
    """The methods of a `Clone` that the git process uses."""

    def __init__(
        self, layout: Layout, address: Address, limits: Limits, store_file: str | None = None
    ) -> None:
        self._layout = layout
        self._path = Path(address.url)
        self._shown = address.shown
        self._limits = limits
        self._store = None if store_file is None else Path(store_file).resolve()

    def pull(self, *, follow_rewrites: bool = False) -> str:
        """The present revision."""
        del follow_rewrites
        if self._path.is_dir() and self._layout.root.is_relative_to(self._path):
            reason = f"the cache lies inside of it, in {self._layout.root}"
            raise GitError(self._shown, reason, hint="give another: foliot serve --cache DIR")
        return self._pack(None)

    renew = pull

    def goes_on_from(self, base: str | None, revision: str) -> bool:
        """A directory has no history: only the same revision counts as a successor."""
        return base == revision

    def config(self, revision: str, file: str) -> bytes:
        """The text of the config file. If it changes now, the copy notices."""
        del revision
        path = self._path / file if self._path.is_dir() else self._path
        try:
            return path.read_bytes()
        except FileNotFoundError:
            hint = f"{self._shown} must hold {file}"
            raise ConfigNotFoundError(file, hint=hint) from None
        except OSError as error:
            raise self._unreadable(path, error) from error

    def files(self, revision: str, patterns: Sequence[str]) -> dict[str, bytes]:
        """The files that match; if they are of a later revision, the copy tells."""
        del revision
        folder = self._path if self._path.is_dir() else self._path.parent
        names = ((name, path.stat().st_size) for name, path in self._entries() if _is_plain(path))
        try:
            return {name: (folder / name).read_bytes() for name in pick(names, patterns)}
        except OSError as error:
            raise self._unreadable(error.filename or folder, error) from error

    @contextmanager
    def listing(self, revision: str) -> Iterator[IO[bytes]]:
        """Empty: a directory is checked while it is read."""
        del revision
        yield BytesIO()

    @contextmanager
    def archive(self, revision: str) -> Iterator[IO[bytes]]:
        """All files as a tar stream."""
        spool = self._layout.work / f"{revision[:12]}.tar"
        with spool.open("w+b") as stream:
            spool.unlink()
            with tarfile.open(fileobj=stream, mode="w|", encoding="utf-8") as archive:
                found = self._pack(archive)
            if found != revision:
                raise SnapshotError(self._shown, "it was changed while it was copied")
            stream.seek(0)
            yield stream

    def tidy(self, revision: str) -> None:
        """Nothing is kept here."""

    def _pack(self, archive: tarfile.TarFile | None) -> str:
        """Read all files, into an archive if one is given. Returns the digest."""
        digest, count, size = sha256(), 0, 0
        try:
            for name, path in self._entries():
                info = _member(name, path)
                count, size = count + 1, size + info.size
                check_limits(self._limits, count, size, name.count("/") + 1, name)
                digest.update(repr((name, info.type, info.mode, info.linkname, info.size)).encode())
                if info.isreg():
                    _take(path, info, digest, archive)
                elif archive is not None:
                    archive.addfile(info)
        except BadTreeError as error:
            raise TreeRefusedError(self._shown, f"it is refused: {error}") from error
        except OSError as error:
            raise self._unreadable(error.filename or self._path, error) from error
        return digest.hexdigest()[:_DIGITS]

    def _entries(self) -> Iterator[tuple[str, Path]]:
        """Names and paths in a fixed order, without `.git` and the store."""
        if not self._path.is_dir():
            yield self._path.name, self._path
            return
        for folder, folders, files in os.walk(self._path, onerror=_raise):
            folders[:] = sorted(name for name in folders if name != ".git")
            for name in sorted((*folders, *files)):
                path = Path(folder, name)
                if name != ".git" and not self._is_of_store(path):
                    yield str(path.relative_to(self._path)), path

    def _is_of_store(self, path: Path) -> bool:
        """Whether a file belongs to the store: each run changes it."""
        store = self._store
        if store is None or path.parent != store.parent:
            return False
        return path.name == store.name or path.name.startswith(f"{store.name}-")

    def _unreadable(self, path: Any, error: OSError) -> RemoteUnavailableError:
        return RemoteUnavailableError(self._shown, f"{path} cannot be read: {error.strerror or error}")


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _member(name: str, path: Path) -> tarfile.TarInfo:
    facts = path.lstat()
    info = tarfile.TarInfo(name)
    info.mode = 0o755 if facts.st_mode & stat.S_IXUSR else 0o644
    info.mtime = int(facts.st_mtime)
    if stat.S_ISDIR(facts.st_mode):
        info.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(facts.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, str(path.readlink())
    elif stat.S_ISREG(facts.st_mode):
        info.size = facts.st_size
    else:
        raise BadTreeError(f"{name!r} is neither a file nor a directory nor a link")
    return info


def _take(path: Path, info: tarfile.TarInfo, digest: Any, archive: tarfile.TarFile | None) -> None:
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        reader = _Hashing(file, digest, info.size)
        if archive is not None:
            archive.addfile(info, reader)  # type: ignore[arg-type] # it can be read
        else:
            while reader.read(_PIECE):
                pass


class _Hashing:
    """A file that updates a digest while it is read."""

    def __init__(self, file: IO[bytes], digest: Any, size: int) -> None:
        self._file = file
        self._digest = digest
        self._left = size

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        self._digest.update(data)
        return data


def _raise(error: OSError) -> None:
    raise error
