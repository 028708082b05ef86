"""Where a daemon keeps things on this host, unless it is told otherwise.

A unit of systemd is given its directories in variables; a user has them under the home, by the rules of
freedesktop.org, which is where the seed's `~/.cache/rollcron/` lies, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

_STORE = "foliot.db"


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
    root = Path(home) if home.startswith("/") else Path(environment.get("HOME") or Path.home()) / usual
    return root / program
