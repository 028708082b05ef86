"""The clone of a repository, and how it is brought up to date: `git pull --ff-only`, in steps.

The remote's revision is fetched, and followed only if it is a successor of the present one. Nothing is
merged. The branch is the one that the remote's HEAD named when the clone was made; if that branch is gone,
the one that HEAD names now, if it contains the present revision.

The caller holds the repository's lock, so a lock file in the clone was left by a git that was killed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, NamedTuple

from foliot.errors import ConfigNotFoundError, shorten
from foliot.sources.git.address import Address
from foliot.sources.git.beside import pick
from foliot.sources.git.errors import (
    GitError,
    HistoryRewrittenError,
    RemoteUnavailableError,
    TreeRefusedError,
)
from foliot.sources.git.layout import Layout
from foliot.sources.git.program import CommandFailedError, GitProgram

LARGEST_CONFIG = 1 << 20
_LEFT_BEHIND = (
    "*.lock",
    "refs/**/*.lock",
    "gc.pid",
    "objects/pack/tmp_*",
    "objects/pack/*.keep",
    "objects/*/tmp_obj_*",
)
_REVISION = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHA256_LENGTH = 64
_BRANCHES = "refs/heads/"
_ATTRIBUTES = "* -export-subst\n"  # it could start gpg, and make gigabytes of a line
_FOLLOW = "start again with --follow-rewrites to follow it, or have the old history restored"


class Remote(NamedTuple):
    """What a remote says of itself: the branch that HEAD names, and what each branch asked for is at."""

    head: str | None
    tips: dict[str, str]


class Clone:
    """One clone in a cache. Blocks, and needs the repository's lock: for the git process."""

    def __init__(self, layout: Layout, address: Address, git: GitProgram, say: Callable[[str], None]) -> None:
        self._layout = layout
        self._address = address
        self._git = git
        self._say = say

    def pull(self, *, follow_rewrites: bool = False) -> str:
        """Bring the clone up to date and tell its revision."""
        self._clear()
        branch, revision = self._branch(), self._tip()
        self._say("asking the remote what it has")
        remote = self._ask(branch)
        wanted = branch if branch in remote.tips else self._head(remote, branch)
        if revision is not None and remote.tips[wanted] == revision:
            return revision
        self._say("fetching")
        if branch is None:
            return self._begin(wanted, remote)
        before = self._in_effect()
        if before is not None and not self._has(before):
            before = revision  # a person has removed the clone, to have it made again
        try:
            tip = self._fetch(self._repository, wanted)
            is_successor = self._is_ancestor(self._repository, before, tip)
        except CommandFailedError:
            if self._is_sound():
                raise
            return self.renew(follow_rewrites=follow_rewrites)
        self._check(before, tip, wanted, is_fine=is_successor or follow_rewrites)
        self._move(self._repository, wanted, tip)
        return tip

    def renew(self, *, follow_rewrites: bool = False) -> str:
        """Clone again, beside the clone that is damaged; that one goes when the new one is good."""
        self._say("cloning again, because the clone is damaged")
        branch, before = self._branch(), self._in_effect()
        remote = self._ask(branch)
        wanted = branch if branch in remote.tips else self._head(remote, branch)
        place = self._layout.work / f"clone-{token_hex(4)}"
        tip = self._make(place, wanted, remote)
        is_successor = self._is_ancestor(place / ".git", before, tip)
        self._check(before, tip, wanted, is_fine=is_successor or follow_rewrites)
        self._put(place)
        return tip

    def goes_on_from(self, base: str | None, revision: str) -> bool:
        """Whether a revision of the clone is another one, or a successor of it; no, if that is unknown."""
        if base == revision or base is None or not _REVISION.fullmatch(base):
            return base == revision  # as nearly always, and no git is asked for it
        with suppress(CommandFailedError):
            return self._is_ancestor(self._repository, base, revision)
        return False

    def config(self, revision: str, file: str) -> bytes:
        """The config file as it was committed."""
        listed = self._run("ls-tree", "-l", "-z", revision, "--", file).decode(errors="replace")
        if not listed:
            raise ConfigNotFoundError(
                f"{file} at {self._address.shown} ({revision[:12]})",
                hint=f"commit a {file} at the top of the repository",
            )
        mode, kind, blob, size = listed.partition("\t")[0].split()
        if kind != "blob" or mode not in ("100644", "100755"):
            raise TreeRefusedError(self._address.shown, f"{file} is no plain file at {revision[:12]}")
        if int(size) > LARGEST_CONFIG:
            raise TreeRefusedError(
                self._address.shown, f"{file} is larger than {LARGEST_CONFIG} bytes at {revision[:12]}"
            )
        return self._run("cat-file", "blob", blob)

    def files(self, revision: str, patterns: Sequence[str]) -> dict[str, bytes]:
        """The plain files of a revision that match."""
        listed = self._run("ls-tree", "-r", "-l", "-z", "--full-tree", revision).decode(errors="replace")
        blobs, sizes = {}, []
        for line in filter(None, listed.split("\0")):
            facts, _, name = line.partition("\t")
            mode, _, blob, size = facts.split()
            if mode in ("100644", "100755"):
                blobs[name] = blob
                sizes.append((name, int(size)))
        return {name: self._run("cat-file", "blob", blobs[name]) for name in pick(sizes, patterns)}

    def listing(self, revision: str) -> AbstractContextManager[IO[bytes]]:
        """The name and the size of everything in a revision, while git finds it."""
        words = ("ls-tree", "-r", "-t", "-l", "-z", "--full-tree", revision)
        return self._git.stream(*words, repository=self._repository)

    def archive(self, revision: str) -> AbstractContextManager[IO[bytes]]:
        """All files of a revision, as a tar stream; nothing is put in for `$Format:…$`."""
        attributes = self._repository / "info" / "attributes"  # outranks what the tree says
        try:
            attributes.parent.mkdir(exist_ok=True)
            attributes.unlink(missing_ok=True)
            attributes.write_text(_ATTRIBUTES)
        except OSError as error:
            raise CommandFailedError("archive", 1, f"{error}") from error
        return self._git.stream("archive", "--format=tar", revision, repository=self._repository)

    def tidy(self, revision: str) -> None:
        """Show the revision in the clone's own work tree, for people, and pack what wants packing.

        Nothing runs from there, so a failure does no harm.
        """
        with suppress(CommandFailedError, GitError, OSError):
            try:
                self._show(revision)
            except CommandFailedError:
                (self._repository / "index").unlink(missing_ok=True)  # it may be damaged, and is soon made
                self._show(revision)
            self._run("gc", "--auto", "--quiet")

    def _show(self, revision: str) -> None:
        tree = f"--work-tree={self._layout.clone}"
        self._git.run(tree, "read-tree", "--reset", "-u", revision, repository=self._repository)

    @property
    def _repository(self) -> Path:
        return self._layout.clone / ".git"

    def _run(self, *words: str) -> bytes:
        return self._git.run(*words, repository=self._repository)

    def _clear(self) -> None:
        for pattern in _LEFT_BEHIND:
            for path in list(self._repository.glob(pattern)):
                path.unlink(missing_ok=True)

    def _branch(self) -> str | None:
        with suppress(OSError, ValueError):  # git itself may not be able to read a damaged clone
            head = (self._repository / "HEAD").read_text()
            if head.startswith(f"ref: {_BRANCHES}"):
                return head.removeprefix(f"ref: {_BRANCHES}").strip()
        return None

    def _tip(self) -> str | None:
        """What the clone is at; None if there is no clone, or it cannot tell."""
        with suppress(CommandFailedError):
            found = self._run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").decode().strip()
            return found if _REVISION.fullmatch(found) else None
        return None

    def _in_effect(self) -> str | None:
        """The revision whose snapshots are current. One that was pulled and then refused does not count."""
        current = self._layout.current_set()
        found = str(current.note().get("revision")) if current is not None else ""
        return found if _REVISION.fullmatch(found) else None

    def _has(self, revision: str) -> bool:
        try:
            self._run("cat-file", "-e", f"{revision}^{{commit}}")
        except CommandFailedError:
            return False
        return True

    def _ask(self, branch: str | None) -> Remote:
        patterns = ["HEAD", *([f"{_BRANCHES}{branch}"] if branch else [])]
        said = self._online("ls-remote", "--symref", "--", self._address.url, *patterns)
        head: str | None = None
        tips: dict[str, str] = {}
        lines = [line.split("\t") for line in said.decode(errors="replace").splitlines() if "\t" in line]
        for what, name, *_ in lines:
            if name == "HEAD" and what.startswith(f"ref: {_BRANCHES}"):
                head = what.removeprefix(f"ref: {_BRANCHES}")
            elif name == "HEAD" and head is not None and _REVISION.fullmatch(what):
                tips.setdefault(head, what)
            elif name.startswith(_BRANCHES) and _REVISION.fullmatch(what):
                tips[name.removeprefix(_BRANCHES)] = what
        if head is None and any(name == "HEAD" for _, name, *_ in lines) and branch not in tips:
            raise GitError(
                self._address.shown,
                "its HEAD is detached: it names no branch",
                hint="check out a branch there",
            )
        return Remote(head, tips)

    def _head(self, remote: Remote, gone: str | None) -> str:
        """The branch that HEAD names; an error if there is nothing at it."""
        if remote.head is not None and remote.head in remote.tips:
            return remote.head
        if gone is not None:
            reason, hint = f"the branch {shorten(gone)} is gone, and HEAD names no other", "restore it"
        else:
            reason, hint = (
                "there is nothing to follow: HEAD has no commits yet",
                "commit and push a first file",
            )
        raise GitError(self._address.shown, reason, hint=hint)

    def _online(self, *words: str, repository: Path | None = None) -> bytes:
        try:
            return self._git.run(*words, repository=repository, online=True)
        except CommandFailedError as error:
            if "fsck error" in error.said:
                raise TreeRefusedError(
                    self._address.shown, f"git refuses what it holds: {error.reason}"
                ) from error
            if repository is not None and not self._is_sound_at(repository):
                raise
            raise RemoteUnavailableError(self._address.shown, error.reason, hint=error.hint) from error

    def _fetch(self, repository: Path, branch: str) -> str:
        mirror = f"refs/remotes/origin/{branch}"
        self._online(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--update-shallow",
            "--",
            self._address.url,
            f"+{_BRANCHES}{branch}:{mirror}",
            repository=repository,
        )
        return (
            self._git.run("rev-parse", "--verify", f"{mirror}^{{commit}}", repository=repository)
            .decode()
            .strip()
        )

    def _begin(self, branch: str, remote: Remote) -> str:
        place = self._layout.work / f"clone-{token_hex(4)}"
        tip = self._make(place, branch, remote)
        self._put(place)
        return tip

    def _make(self, place: Path, branch: str, remote: Remote) -> str:
        form = "sha256" if len(remote.tips[branch]) == _SHA256_LENGTH else "sha1"
        self._git.run("init", "--quiet", "--template=", f"--object-format={form}", "--", str(place))
        place.chmod(0o700)  # others may pass through the cache to the directories of jobs
        tip = self._fetch(place / ".git", branch)
        self._move(place / ".git", branch, tip)
        return tip

    def _put(self, place: Path) -> None:
        if self._layout.clone.exists():
            old = self._layout.work / f"old-{token_hex(4)}"
            self._layout.clone.rename(old)
            place.rename(self._layout.clone)
            shutil.rmtree(old, ignore_errors=True)
        else:
            place.rename(self._layout.clone)

    def _move(self, repository: Path, branch: str, tip: str) -> None:
        self._git.run("update-ref", f"{_BRANCHES}{branch}", tip, repository=repository)
        self._git.run("symbolic-ref", "HEAD", f"{_BRANCHES}{branch}", repository=repository)

    def _is_ancestor(self, repository: Path, before: str | None, after: str) -> bool:
        if before is None:
            return True
        try:
            self._git.run("merge-base", "--is-ancestor", before, after, repository=repository)
        except CommandFailedError as error:
            if error.code == 1 or "Not a valid commit" in error.said:
                return False
            raise
        return True

    def _check(self, before: str | None, after: str, branch: str, *, is_fine: bool) -> None:
        if not is_fine:
            raise HistoryRewrittenError(
                self._address.shown,
                f"the history of {shorten(branch)} was rewritten: {str(before)[:12]}, which is followed, "
                f"is no ancestor of {after[:12]}",
                hint=_FOLLOW,
            )

    def _is_sound(self) -> bool:
        return self._is_sound_at(self._repository)

    def _is_sound_at(self, repository: Path) -> bool:
        try:
            self._git.run(
                "fsck", "--connectivity-only", "--no-dangling", "--no-progress", repository=repository
            )
        except (CommandFailedError, GitError):
            return False
        return (repository / "HEAD").exists()
