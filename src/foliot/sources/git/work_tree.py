"""A work tree: what its revisions hold, and which remotes it knows. Nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from foliot.sources.git.address import Address, parse_address
from foliot.sources.git.beside import Files, pick
from foliot.sources.git.comparing import differing, read_listing
from foliot.sources.git.errors import GitError, InvalidRepositoryError, RevisionNotFoundError
from foliot.sources.git.owner import refuse_foreign
from foliot.sources.git.program import CommandFailedError, GitProgram

_MOST_LISTED = 8 << 20  # bytes of names of files
_SPARSE = "S"
_SHALLOW = "a shallow clone has few revisions: git fetch --unshallow, or fetch-depth: 0 in CI"


class Blob(NamedTuple):
    """A file at a revision."""

    commit: str
    data: bytes


class WorkTree:
    """A directory under git, asked by git itself."""

    def __init__(self, address: Address, environment: Mapping[str, str]) -> None:
        """ForeignRepositoryError if another user owns it: nothing is run then."""
        self.top = Path(address.url)
        refuse_foreign(self.top, environment)
        self._address = address
        is_bare = not (self.top / ".git").exists()
        self._directory = self.top if is_bare else self.top / ".git"
        self._git = GitProgram(address, self.top, environment)

    def commit(self, revision: str) -> str:
        """The commit that a revision names. RevisionNotFoundError."""
        try:
            named = f"{revision}^{{commit}}"
            found = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", named)
        except CommandFailedError as error:
            if error.said.strip():
                raise self._error(error) from error
            reason = f"there is no revision {revision!r}"
            raise RevisionNotFoundError(self._address.shown, reason, hint=_SHALLOW) from None
        return found.decode().strip()

    def read(self, revision: str, file: str, most: int) -> Blob | None:
        """A file at a revision; None if the revision has no such file."""
        commit = self.commit(revision)
        try:
            listed = self._run("ls-tree", "-z", commit, "--", f":(top,literal){file}")
            if not listed:
                return None
            blob = listed.split(b"\t")[0].split()[2].decode()
            return Blob(commit, self._run("cat-file", "blob", blob, most=most))
        except CommandFailedError as error:
            raise self._error(error) from error

    def files_at(self, commit: str) -> Files:
        """The files of a revision that a config may name."""

        def read(patterns: Sequence[str]) -> Mapping[str, bytes]:
            rows = [
                row.partition(b"\t") for row in self._run("ls-tree", "-r", "-l", "-z", commit).split(b"\0")
            ]
            facts = {os.fsdecode(name): row.split() for row, _, name in rows if row.startswith(b"100")}
            names = pick(((name, int(fact[3])) for name, fact in facts.items()), patterns)
            return {name: self._run("cat-file", "blob", facts[name][2].decode()) for name in names}

        return read

    def changed_files(self, base: str, head: str | None = None) -> tuple[str, ...]:
        """The files that differ between two revisions, or between one and the work tree."""
        try:
            if head is not None:
                return tuple(sorted(_names(self._run("diff-tree", "-r", "--name-only", "-z", base, head))))
            listed = read_listing(self._run("ls-tree", "-r", "-l", "-z", "--full-tree", base))
            known = [(name[0], name[2:]) for name in _names(self._run("ls-files", "-t", "-z"))]
            others = set(_names(self._run("ls-files", "--others", "--exclude-standard", "-z")))
        except CommandFailedError as error:
            raise self._error(error) from error
        for tag, name in known:
            if tag == _SPARSE:  # a sparse checkout leaves it out
                listed.pop(name, None)
            elif name not in listed and os.path.lexists(self.top / name):
                others.add(name)
        return tuple(sorted({*differing(self.top, listed), *others}))

    def remotes(self) -> Iterator[Address]:
        """The addresses of the remotes that can be followed, that of `origin` first."""
        try:
            found = self._run("config", "--get-regexp", r"^remote\..*\.url$").decode(errors="replace")
        except CommandFailedError:  # there is none
            return
        lines = [line.partition(" ") for line in found.splitlines()]
        for _, _, url in sorted(lines, key=lambda line: line[0] != "remote.origin.url"):
            try:
                yield parse_address(url, base=self.top)
            except InvalidRepositoryError:
                continue

    def _run(self, *arguments: str, most: int = _MOST_LISTED) -> bytes:
        where = () if self._directory == self.top else ("-c", f"core.worktree={self.top}")
        return self._git.run(*where, *arguments, repository=self._directory, most=most)

    def _error(self, error: CommandFailedError) -> GitError:
        return GitError(self._address.shown, error.reason, hint=error.hint)


def _names(written: bytes) -> list[str]:
    return [os.fsdecode(name) for name in written.split(b"\0") if name]


def find_work_tree(path: Path, environment: Mapping[str, str]) -> WorkTree | None:
    """The work tree that a file or a directory lies in; None: there is none."""
    address = parse_address(str(path.resolve()))
    is_git = (Path(address.url) / ".git").exists() or (Path(address.url) / "HEAD").is_file()
    return WorkTree(address, environment) if is_git else None
