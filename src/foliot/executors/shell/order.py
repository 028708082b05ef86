"""What a warden is told to start: a command, a directory, and what its environment has of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from foliot.errors import InvalidJobError
from foliot.executors.shell.env_file import read_env_file
from foliot.executors.shell.run_as import RunAs, nice_words
from foliot.executors.shell.secrets import HostSecrets, masked_texts, secrets_of
from foliot.executors.shell.warden.other_user import Owner
from foliot.executors.shell.warden.spawn import SHELL
from foliot.model.attempt import format_instant
from foliot.model.chain import parent_of
from foliot.protocols import Run

INHERITED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR"})
NOBODY_ELSE = RunAs()
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Place(Protocol):
    """Where a run takes place: a directory, and which revision of the source it holds."""

    @property
    def path(self) -> Path: ...

    @property
    def revision(self) -> str: ...


class Order(NamedTuple):
    """One command, as the warden needs it; `masked` are texts that must not be seen in its output."""

    program: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    stdin: str
    masked: list[str]
    umask: int | None = None
    owner: Owner | None = None  # whose rights it has, and whose its pipes are, if not the daemon's


def make_order(run: Run, place: Place, host: HostSecrets, run_as: RunAs = NOBODY_ELSE) -> Order:
    """What to start for a run. InvalidJobError says what is wrong with its definition, or its files."""
    data = run.job.action.data
    program, arguments = _command(data.get("run"), data.get("shell") or SHELL)
    user = run_as.identity(data)
    before = nice_words(data["nice"]) if data.get("nice") else []
    if before:
        program, arguments = before[0], [*before, program, *arguments[1:]]
    environment: dict[str, str] = {} if user is None else user.environment
    if env_file := data.get("env_file"):
        environment |= read_env_file(_inside(place, "env_file", env_file), env_file)
    secrets = secrets_of(data, host)
    environment |= secrets
    environment |= _checked(data.get("env") or {})
    environment |= _of_run(run, place.revision)
    folder = data.get("working_dir")
    path = _inside(place, "working_dir", folder) if folder else place.path
    stdin = data.get("stdin") or ""
    umask = None if data.get("umask") is None else int(str(data["umask"]), 8)
    owner = None if user is None else user.owner
    return Order(program, arguments, str(path), environment, stdin, masked_texts(secrets), umask, owner)


def _command(command: object, shell: str) -> tuple[str, list[str]]:
    """The program, and its arguments from its own name on. A text is for the shell; a list needs none."""
    if isinstance(command, str):
        # A text that begins with a dash would be read as an option.
        text = f" {command}" if command[:1] in ("-", "+") else command
        return shell, [shell.rpartition("/")[2], "-c", text]
    if isinstance(command, list | tuple) and command and all(isinstance(part, str) for part in command):
        return command[0], list(command)
    raise InvalidJobError("run", command, "must be the text of a command, or a list of texts")


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """What a command gets from the daemon's environment: where programs and homes are, language and zone."""
    kept = {k: v for k, v in environment.items() if k in INHERITED or k.startswith("LC_")}
    return {"PATH": _PATH, "SHELL": "/bin/sh"} | kept


def run_id(run: Run) -> str:
    """The attempt's name."""
    return f"{run.attempt.run_key}#{run.attempt.number}"


def _of_run(run: Run, revision: str) -> dict[str, str]:
    attempt = run.attempt
    given = {} if attempt.payload is None else {"FOLIOT_PAYLOAD": attempt.payload}
    if (parent := parent_of(attempt)) is not None:
        given["FOLIOT_AFTER"] = parent
    return given | {
        "FOLIOT_JOB": run.job.name,
        "FOLIOT_KEY": attempt.run_key,
        "FOLIOT_RUN_ID": run_id(run),
        "FOLIOT_ATTEMPT": str(attempt.number),
        "FOLIOT_SCHEDULED_FOR": format_instant(attempt.scheduled_for),
        "FOLIOT_TRIGGER": str(attempt.trigger),
        "FOLIOT_TOKEN": str(attempt.token),
        "FOLIOT_REVISION": revision,
    }


def _checked(variables: Mapping[str, Any]) -> dict[str, str]:
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name:
            raise InvalidJobError("env", name, "is not the name of a variable")
        if not isinstance(value, str) or "\0" in value:
            raise InvalidJobError(f"env.{name}", value, "must be a text without NUL characters")
    return dict(variables)


def _inside(place: Place, field: str, name: str) -> Path:
    """A path below the place; neither dots nor links may lead out of it."""
    root = os.path.realpath(place.path)
    if "\0" in name:
        raise InvalidJobError(field, name, "has a NUL character")
    path = os.path.realpath(os.path.join(root, name))  # noqa: PTH118 - pathlib would cost more than the rest
    if path != root and not path.startswith(root.rstrip("/") + "/"):
        raise InvalidJobError(
            field, name, "leads out of the job's directory", hint="give a path inside the repository"
        )
    return Path(path)
