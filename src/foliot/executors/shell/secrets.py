"""What a host keeps for its jobs and no repository holds: files of secrets, and variables of the daemon.

The daemon's operator says what there is: a folder of files, and names of variables. A job names its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from foliot.errors import InvalidJobError
from foliot.executors.shell.env_file import read_private_file

SUFFIX = ".env"
NAME = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)  # of a file of secrets, without its suffix
_SHORTEST_MASKED = 6  # characters: a shorter value stands in many a text by chance
_NONE: Mapping[str, str | None] = MappingProxyType({})


class HostSecrets(NamedTuple):
    """`folder` has files `<name>.env`; `variables` may be passed on: None stands for one that is not set."""

    folder: Path | None = None
    variables: Mapping[str, str | None] = _NONE


def secrets_of(data: Mapping[str, Any], host: HostSecrets) -> dict[str, str]:
    """The secret variables that a job asks for. InvalidJobError: the operator does not give them."""
    passed = {name: _passed(name, host) for name in data.get("pass_env") or ()}
    name = data.get("secrets")
    return passed if name is None else passed | _file(name, host)


def masked_texts(secrets: Mapping[str, str]) -> list[str]:
    """The texts that must not be seen in an output: values, and the lines of those with several."""
    texts = {text for value in secrets.values() for text in (value, *value.splitlines())}
    return sorted(text for text in texts if len(text) >= _SHORTEST_MASKED)


def _passed(name: str, host: HostSecrets) -> str:
    if name not in host.variables:
        hint = f"its operator allows it: foliot serve --pass-env {name}"
        raise InvalidJobError("pass_env", name, "the daemon may not pass it on", hint=hint)
    value = host.variables[name]
    if value is None:
        raise InvalidJobError("pass_env", name, "it is not set in the daemon's environment")
    return value


def _file(name: object, host: HostSecrets) -> dict[str, str]:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidJobError("secrets", name, "must be letters, digits, _ and - only")
    if host.folder is None:
        hint = "its operator gives it: foliot serve --secrets DIR"
        raise InvalidJobError("secrets", name, "the daemon has no folder of secrets", hint=hint)
    return read_private_file(host.folder / f"{name}{SUFFIX}", f"{name}{SUFFIX}")
