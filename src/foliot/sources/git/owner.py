"""Who owns a repository of the user's: git is not run in one of another user.

The configuration of a repository can name programs that git runs. Git itself refuses to read one that another
user owns, but not where it is told the directory, as we do. The rule is git's: the effective user owns it;
for root also the user who has called sudo. What root owns is trusted, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from foliot.sources.git.errors import ForeignRepositoryError

_ROOT = 0
_LARGEST_LINK = 5000  # bytes of a `.git` that is a file, and names the directory


def refuse_foreign(top: Path, environment: Mapping[str, str]) -> None:
    """ForeignRepositoryError if another user owns a work tree, or what git keeps of it."""
    trusted = _trusted(environment)
    for place in _places(top):
        owner = place.lstat().st_uid
        if owner not in trusted:
            reason = f"detected dubious ownership: the user {owner} owns {place}, and nothing was run"
            hint = "clone it as yourself; git would run programs that its configuration names"
            raise ForeignRepositoryError(str(top), reason, hint=hint)


def _trusted(environment: Mapping[str, str]) -> set[int]:
    found = {_ROOT, os.geteuid()}
    caller = environment.get("SUDO_UID", "")
    if os.geteuid() == _ROOT and caller.isascii() and caller.isdigit():
        found.add(int(caller))
    return found


def _places(top: Path) -> Iterator[Path]:
    """The work tree, `.git`, what that leads to, and the files there that say what git runs."""
    yield top
    kept = top / ".git"
    if not os.path.lexists(kept):
        kept = top
    else:
        yield kept
        kept = _led_to(kept)
        yield kept
    common = kept / "commondir"
    if common.is_file():  # a second work tree of a repository
        kept = (kept / _line(common)).resolve()
        yield kept
    files = (kept / name for name in ("config", "config.worktree", "info", "objects"))
    yield from (file for file in files if file.exists())


def _led_to(kept: Path) -> Path:
    if kept.is_file():
        return (kept.parent / _line(kept).removeprefix("gitdir:").strip()).resolve()
    return kept.resolve()


def _line(file: Path) -> str:
    with file.open("rb") as opened:
        return os.fsdecode(opened.read(_LARGEST_LINK)).strip()
