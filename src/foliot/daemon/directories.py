"""Where a daemon keeps things on this host, unless it is told otherwise.

A unit of systemd is given its directories in variables; a user has them under the home, by the rules of
freedesktop.org, which is where the seed's `~/.cache/rollcron/` lies, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from foliot.errors import FoliotError

_STORE = "foliot.db"
_NAME_THEM = "name a place with --store (and --cache for serve), or set HOME to a folder of your own"


def default_store(environment: Mapping[str, str]) -> str:
    """The URL of the store that the daemon and the commands share."""
    return f"sqlite:///{quote(str(state_directory(environment) / _STORE))}"


def state_directory(environment: Mapping[str, str]) -> Path:
    """Where what must not be lost is kept."""
    return _place(environment, "STATE_DIRECTORY", "XDG_STATE_HOME", ".local/state", "foliot")


def cache_directory(environment: Mapping[str, str], program: str) -> Path:
    """Where clones and snapshots are kept: `~/.cache/rollcron` for `rollcron`."""
    return _place(environment, "CACHE_DIRECTORY", "XDG_CACHE_HOME", ".cache", program)


def _place(environment: Mapping[str, str], given: str, base: str, usual: str, program: str) -> Path:
    if directory := environment.get(given, "").split(":")[0]:
        return Path(directory)
    home = environment.get(base, "")
    # A relative path is to be ignored, says the specification: it would follow the working directory.
    root = Path(home) if home.startswith("/") else _home(environment) / usual
    return root / program


def _home(environment: Mapping[str, str]) -> Path:
    """The home of the user. In a container, a user may have neither HOME nor an entry in /etc/passwd."""
    if home := environment.get("HOME"):
        return Path(home)
    try:
        return Path.home()
    except RuntimeError:
        raise FoliotError("this user has no home directory, and HOME is not set", hint=_NAME_THEM) from None


def make_folder(folder: Path) -> None:
    """Create a folder of our own, which no other user can look into, if it is not there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"the folder {folder} cannot be created: {error.strerror}"
        raise FoliotError(reason, hint=_NAME_THEM) from error
