"""Commands as another user: only a daemon that is root, and only users that its operator has named.

A repository that could choose any user would be root after a push. So it only wishes (`user: www-data`), and
the operator allows (`foliot serve --run-as www-data`). A job that names no user would have the daemon's own
rights, which are root's: it needs `--run-as root`. Elsewhere the job does not fit, and waits for a node where
it does.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from foliot.errors import FoliotError, shorten
from foliot.executors.shell.warden.other_user import Owner

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_ROOT = 0
_NAMELESS = (
    "it names no user, and would run as root on this daemon, which was started with --run-as: "
    "write user: in the job or under defaults:, or start the daemon with --run-as root, too"
)
_OF_GROUP = 0o750
_FOR_OTHERS = stat.S_IXGRP | stat.S_IXOTH


class Identity(NamedTuple):
    """A user of this host."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str

    @property
    def environment(self) -> dict[str, str]:
        """What a login of the user would have."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name}

    @property
    def owner(self) -> Owner:
        """Its rights, by numbers."""
        return Owner(self.uid, self.gid, self.groups)


class RunAs:
    """The users that the operator of this node allows. FoliotError if it cannot be so."""

    def __init__(self, names: Collection[str] = ()) -> None:
        self._users = {name: _find(name) for name in names}
        if names and os.geteuid() != _ROOT:
            raise FoliotError(
                "--run-as needs a daemon that is root", hint="start it as root, or leave --run-as away"
            )

    def __bool__(self) -> bool:
        return bool(self._users)

    def refusal(self, data: Mapping[str, Any]) -> str | None:
        """Why a command cannot be carried out here; None: it can."""
        user = data.get("user")
        if user is None:
            return None if self.gives_own_rights() else _NAMELESS
        if user in self._users:
            return None
        if os.geteuid() != _ROOT:
            return f"it is to run as {shorten(user)}, and this daemon is not root"
        return (
            f"it is to run as {shorten(user)}, and this daemon was not started with --run-as {shorten(user)}"
        )

    def gives_own_rights(self) -> bool:
        """Whether a command that names no user may have the daemon's own rights."""
        return not self._users or any(user.uid == _ROOT for user in self._users.values())

    def identity(self, data: Mapping[str, Any]) -> Identity | None:
        """The user for a command; None: the daemon's own user."""
        if (refusal := self.refusal(data)) is not None:
            raise FoliotError(refusal)
        return self._users.get(data.get("user", ""))

    def check_way(self, folder: Path) -> None:
        """Each of the users must be able to come to a directory, or to where it will be made."""
        place = next(path for path in (folder, *folder.parents) if path.exists())
        parts = [path for path in (place, *place.parents) if path != folder]
        for user in self._users.values():
            for part in reversed(parts):
                if not _may_enter(user, part):
                    raise FoliotError(
                        f"--run-as {user.name}: {user.name} cannot enter {part}",
                        hint="keep clones where it can: --cache /var/cache/foliot",
                    )


def open_way(folder: Path, root: Path, group: int) -> None:
    """Let a group read a directory of ours, and others pass through to it, from the cache on.

    None of them can list the way. What stands beside it (clones, configs, directories of other jobs) is
    closed to others before the way is opened.
    """
    if not folder.is_relative_to(root):
        return
    facts = folder.stat()
    if (facts.st_gid, stat.S_IMODE(facts.st_mode)) != (group, _OF_GROUP):
        os.chown(folder, -1, group)
        folder.chmod(_OF_GROUP)
    inner = folder
    for part in folder.parents:
        if not part.is_relative_to(root):
            return
        mode = stat.S_IMODE(part.stat().st_mode)
        if mode & _FOR_OTHERS != _FOR_OTHERS:
            _close(path for path in part.iterdir() if path != inner)
            part.chmod(mode | _FOR_OTHERS)
        inner = part


def _close(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(FileNotFoundError):  # another process may tidy up
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode) and mode & stat.S_IRWXO:
                path.chmod(stat.S_IMODE(mode) & ~stat.S_IRWXO)


def _find(name: str) -> Identity:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        hint = "create the user, or leave it away"
        raise FoliotError(
            f"--run-as {shorten(name)}: there is no such user on this host", hint=hint
        ) from None
    groups = [group.gr_gid for group in grp.getgrall() if name in group.gr_mem]
    return Identity(name, entry.pw_uid, entry.pw_gid, (entry.pw_gid, *groups), entry.pw_dir)


def _program(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    if found is None:
        raise FoliotError(f"there is no {name} on this host, which jobs with `{name}` need")
    return found


def nice_words(niceness: int) -> list[str]:
    """What stands before a command, so that others go first."""
    return [_program("nice"), "-n", str(niceness), "--"]


def _may_enter(user: Identity, path: Path) -> bool:
    asked = subprocess.run(  # noqa: S603 - words of ours
        ["/bin/sh", "-c", 'test -x "$0"', str(path)],
        user=user.uid,
        group=user.gid,
        extra_groups=user.groups,
        cwd="/",
        env={},
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    return asked.returncode == 0
