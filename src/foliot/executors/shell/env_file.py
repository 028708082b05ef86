r"""Files of variables: `KEY=value` lines, as shells, Compose and systemd have them; nothing is expanded.

# a comment
NAME=value               up to the end of the line; ` #` begins a comment
export NAME='as it is'   single quotes: nothing in between means anything else
NAME="two\nlines"        double quotes: \n \t \\ \" \$ are what they look like

It is read on the engine's loop each time its job starts; so it must be small, and what was read is kept.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from pathlib import Path

from foliot.errors import InvalidJobError

LARGEST = 1 << 16
OURS = "FOLIOT_"
_KEPT = 32  # files; many jobs share one, each in a snapshot of its own
_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_SINGLE = re.compile(r"'(?P<text>[^']*)'\s*(?:#.*)?")
_DOUBLE = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def read_env_file(file: Path, name: str) -> dict[str, str]:
    """The variables of a file; `name` is what its users call it."""
    return dict(_parse(_content(file, name), name))


def read_private_file(file: Path, name: str) -> dict[str, str]:
    """The variables of a file of secrets, which only its owner may read. They are not kept."""
    return parse_env_file(_content(file, name, field="secrets", is_private=True), name, field="secrets")


def parse_env_file(text: str, name: str, *, field: str = "env_file") -> dict[str, str]:
    """The variables, the last of two winning. InvalidJobError names the file and the line."""
    variables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            found = _LINE.fullmatch(stripped)
            if found is None:
                hint = "a name has letters, digits and _"
                raise _invalid(name, number, "is not NAME=value", hint, field)
            if found["name"].startswith(OURS):
                reason = f"sets {found['name']}: names that begin with {OURS} are Foliot's own"
                raise _invalid(name, number, reason, "rename it", field)
            variables[found["name"]] = _value(found["value"], name, number, field)
    return variables


_parse = lru_cache(_KEPT)(parse_env_file)


def _value(text: str, name: str, number: int, field: str) -> str:
    if "\0" in text:
        raise _invalid(name, number, "has a NUL character", "no variable can hold one", field)
    if text[:1] not in ("'", '"'):
        return _COMMENT.sub("", text).rstrip()
    found = (_SINGLE if text[0] == "'" else _DOUBLE).fullmatch(text)
    if found is None:
        reason = f"has no closing {text[0]}, or something behind it"
        raise _invalid(name, number, reason, "quote it as a whole", field)
    quoted = found["text"]
    return quoted if text[0] == "'" else _ESCAPE.sub(lambda m: _ESCAPED.get(m[1], m[1]), quoted)


def _content(file: Path, name: str, *, field: str = "env_file", is_private: bool = False) -> str:
    try:
        # Without blocking: what is there may be a pipe that nobody writes to.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidJobError(field, name, f"it cannot be read ({reason})") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise InvalidJobError(field, name, "it is not a regular file")
        if is_private and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InvalidJobError(field, name, "others may read it", hint="chmod 600")
        data = _read(descriptor)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        reason = f"it has more than {LARGEST:,} bytes"
        raise InvalidJobError(field, name, reason, hint="have the command read it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _invalid(name, line, "is not UTF-8", "save the file as UTF-8", field) from error


def _read(descriptor: int) -> bytes:
    data = b""
    while len(data) <= LARGEST and (part := os.read(descriptor, LARGEST + 1)):
        data += part
    return data


def _invalid(name: str, number: int, reason: str, hint: str, field: str) -> InvalidJobError:
    return InvalidJobError(field, f"{name}, line {number}", f"it {reason}", hint=hint)
