"""One line of a crontab: variable, rule and command, standard input. As cron's own reader takes it apart."""

from __future__ import annotations

import re
from typing import NamedTuple

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
REBOOT = "@reboot"
_VARIABLE = re.compile(r"""[ \t]*("[^"]*"|'[^']*'|[^ \t="']+)[ \t]*=[ \t]*(.*?)[ \t]*$""", re.DOTALL)
_WORD = re.compile(r"[^ \t]+")
_FIELDS = 5


class Entry(NamedTuple):
    """A rule as it is written, the user of a system table, and what follows."""

    rule: str
    user: str
    command: str
    is_quiet: bool = False  # cronie: a `-` in front keeps it out of the log


def read_variable(line: str) -> tuple[str, str] | None:
    """Name and value, if a line sets a variable."""
    found = _VARIABLE.fullmatch(line)
    if found is None:
        return None
    name, value = found.groups()
    if name[0] in "\"'":
        name = name[1:-1]
    if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]:
        value = value[1:-1]
    return name, value


def read_entry(line: str, *, has_user: bool) -> Entry | None:
    """The parts of a line that starts something; None if some are missing."""
    text = line.lstrip(" \t")
    is_quiet = text.startswith("-")
    text = text.removeprefix("-")
    count = (1 if text.startswith("@") else _FIELDS) + has_user
    words: list[str] = []
    end = 0
    for match in _WORD.finditer(text):
        if len(words) == count:
            break
        words.append(match.group())
        end = match.end()
    command = text[end:].strip(" \t")
    if len(words) < count or not command:
        return None
    user = words.pop() if has_user else ""
    return Entry(" ".join(words), user, command, is_quiet)


def split_command(text: str) -> tuple[str, str | None]:
    """The command and its standard input: the first bare `%` divides them, others are line breaks."""
    parts = [[""]]
    escaped = False
    for character in text:
        if escaped:
            parts[-1].append(character if character == "%" else "\\" + character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "%":
            parts.append([])
        else:
            parts[-1].append(character)
    if escaped:
        parts[-1].append("\\")
    command, *rest = ("".join(part) for part in parts)
    if not rest:
        return command.strip(" \t"), None
    given = "\n".join(rest)
    return command.strip(" \t"), given if given.endswith("\n") else given + "\n"
