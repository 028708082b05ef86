"""Where the tables of this host are, and which cron reads them. Everything here only reads."""

from __future__ import annotations

import getpass
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from foliot.errors import ConfigNotFoundError, FoliotError
from foliot.importers.model.vixie import Flavour
from foliot.importers.switch_off import command, one_line, put_aside

_LARGEST = 4_000_000
SYSTEM_TABLE = "/etc/crontab"


class Found(NamedTuple):
    """A table: its name, its bytes, its owner, and the commands that switch it off."""

    name: str
    data: bytes
    owner: str
    switch_off: tuple[str, ...]


def crontab_of(file: str | None, user: str | None, *, is_system: bool) -> Found:
    """The table that the arguments of a command mean."""
    owner = user or _me()
    if file == "-":
        return Found("standard input", sys.stdin.buffer.read(_LARGEST), owner, (_crontab(user, "-r"),))
    if file is None and not is_system:
        return Found(f"crontab of {owner}", _own_table(user), owner, switch_off_user(user))
    path = Path(file or SYSTEM_TABLE)
    off = (put_aside(path),) if is_system else switch_off_installed(path, user)
    return Found(str(path), read_source(path), owner, off)


def switch_off_user(user: str | None) -> tuple[str, ...]:
    """How a user's table is put aside and removed."""
    return (f"{_crontab(user, '-l')} > crontab.before-foliot", _crontab(user, "-r"))


def switch_off_installed(path: Path, user: str | None) -> tuple[str, ...]:
    """How a user's table is put aside that was read from a file."""
    saved, removed = switch_off_user(user)
    return (f"{saved}  # {one_line(str(path))} was installed with crontab(1)", removed)


def _crontab(user: str | None, deed: str) -> str:
    return command("crontab", *(("-u", user) if user else ()), deed)


def read_source(path: Path) -> bytes:
    """The bytes of a file; the error says what is wrong with it."""
    try:
        with path.open("rb") as stream:
            return stream.read(_LARGEST)
    except FileNotFoundError:
        raise ConfigNotFoundError(
            str(path), hint="give the path of a file, or - for standard input"
        ) from None
    except OSError as error:
        raise FoliotError(f"{path} cannot be read: {error.strerror}") from error


def flavour_here() -> Flavour:
    """Which cron this host has: its own package says; Debian's if none does."""
    crond = shutil.which("crond") or "/usr/sbin/crond"
    if Path(crond).exists():
        return "busybox" if Path(crond).resolve().name.startswith("busybox") else "cronie"
    return "debian"


def _me() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name
        return ""


def _own_table(user: str | None) -> bytes:
    program = shutil.which("crontab")
    if program is None:
        raise ConfigNotFoundError("crontab -l", hint="this host has no crontab(1): give a file")
    asked = [program, *(("-u", user) if user else ()), "-l"]
    done = subprocess.run(asked, check=False, capture_output=True, stdin=subprocess.DEVNULL)  # noqa: S603 - it only lists
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise ConfigNotFoundError("crontab -l", hint=said or "there is none: give a file")
    return done.stdout
