"""What can go wrong while a git repository is followed.

FoliotError
└── GitError                         a git repository cannot be followed
    ├── InvalidRepositoryError       ... because what names it cannot be right
    ├── ForeignRepositoryError       ... because another user owns it
    ├── GitMissingError              ... because there is no git program to ask
    ├── RevisionNotFoundError        ... at a revision that is not there
    ├── RemoteUnavailableError       ... now: the remote is away, slow, or does not let us in
    ├── HistoryRewrittenError        ... because its history is no longer the one that was followed
    └── SnapshotError                ... because no directories could be made of a revision
        └── TreeRefusedError         ... and never can be: something in it must not be written to a disk

None of them carries a password: a repository is named as it is shown, without what stands before its host.
"""

from __future__ import annotations

from foliot.errors import ConfigNotFoundError, FoliotError, shorten


class GitError(FoliotError):
    """A git repository cannot be followed; what was good before stays as it is."""

    def __init__(self, repository: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"{shorten(repository)}: {reason}",
            details={"repository": repository, "reason": reason},
            hint=hint,
        )
        self.reason = reason


class InvalidRepositoryError(GitError, ValueError):
    """What names a repository cannot be right, or is of a kind that is not followed."""


class ForeignRepositoryError(GitError):
    """Another user owns the repository: git would run programs that its configuration names."""


class GitMissingError(GitError):
    """There is no git program, or it does not start."""


class RevisionNotFoundError(GitError):
    """The repository has no such revision."""


class RemoteUnavailableError(GitError):
    """The remote is down, slow, or denies access; it may work at the next interval."""


class HistoryRewrittenError(GitError):
    """What was followed is no ancestor of what the remote has now."""


class SnapshotError(GitError):
    """No directories could be made of a revision: the disk is full, say, or the cache cannot be written."""


class TreeRefusedError(SnapshotError):
    """Something in a revision must not be written to a disk; trying again would change nothing."""


def write_error(error: FoliotError) -> dict[str, str | None]:
    """The facts of an error, as JSON that another process can make the same error of."""
    fact = error.reason if isinstance(error, GitError) else str(error.details.get("file", error))
    return {"kind": type(error).__name__, "fact": fact, "hint": error.hint}


def read_error(facts: dict[str, str | None], repository: str) -> FoliotError:
    """The error that another process has written."""
    fact, hint = facts["fact"] or "", facts["hint"]
    if facts["kind"] == ConfigNotFoundError.__name__:
        return ConfigNotFoundError(fact, hint=hint)
    return _KINDS.get(facts["kind"] or "", GitError)(repository, fact, hint=hint)


_KINDS: dict[str, type[GitError]] = {
    kind.__name__: kind
    for kind in (
        GitError,
        InvalidRepositoryError,
        ForeignRepositoryError,
        GitMissingError,
        RevisionNotFoundError,
        RemoteUnavailableError,
        HistoryRewrittenError,
        SnapshotError,
        TreeRefusedError,
    )
}
