"""A unit file of systemd, line by line; and its words: durations, quoting, specifiers."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from foliot.importers.draft import LineKind
from foliot.importers.refused import RefusedError

_SPAN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµ]*)")
_UNITS = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("w", "week", "weeks"), 604_800.0),
    **dict.fromkeys(("ms", "msec"), 0.001),
}
_SPECIFIER = re.compile(r"%(.)")
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")


class Row(NamedTuple):
    """A line: a comment, a blank, a section, or `name = value` in a section. A value may go on for lines."""

    number: int
    text: str
    kind: LineKind
    section: str = ""
    name: str = ""
    value: str = ""


def read_unit(data: bytes) -> list[Row]:
    """All lines. What continues a line above is a setting without a name."""
    rows: list[Row] = []
    section, goes_on = "", False
    for number, line in enumerate(data.decode(errors="backslashreplace").splitlines(), start=1):
        text = line.strip()
        if goes_on:
            last = next(place for place in range(len(rows) - 1, -1, -1) if rows[place].name)
            rows[last] = rows[last]._replace(value=f"{rows[last].value} {text.rstrip(chr(92)).strip()}")
            rows.append(Row(number, line, LineKind.SETTING, section))
        elif not text:
            rows.append(Row(number, line, LineKind.BLANK))
        elif text[0] in "#;":
            rows.append(Row(number, line, LineKind.COMMENT))
        elif text[0] == "[":
            section = text.strip("[]")
            rows.append(Row(number, line, LineKind.SETTING, section))
        else:
            name, _, value = text.partition("=")
            value = value.rstrip("\\").strip()
            rows.append(Row(number, line, LineKind.SETTING, section, name.strip() or "=", value))
        goes_on = text.endswith("\\") and bool(rows[-1].name or goes_on)
    return rows


def read_span(text: str) -> float:
    """A span such as `1h 30min`, in seconds; RefusedError if it is none."""
    total, place = 0.0, 0
    while place < len(text.strip()):
        match = _SPAN.match(text.strip(), place)
        if match is None or match[2] not in _UNITS:
            raise RefusedError("span", f"{text[:40]!r} is no span of time", "write the job by hand")
        total += float(match[1]) * _UNITS[match[2]]
        place = match.end()
    return total


def expand(text: str, unit: str) -> str:
    """The specifiers that a unit's name tells; RefusedError for others."""
    stem = unit.rpartition(".")[0]
    prefix, _, instance = stem.partition("@")
    known = {"%": "%", "n": unit, "N": stem, "p": prefix, "i": instance, "I": instance}

    def replace(match: re.Match[str]) -> str:
        if match[1] not in known:
            raise RefusedError(
                "specifier", f"the specifier %{match[1]} is not known here", "write the value out"
            )
        return known[match[1]]

    return _SPECIFIER.sub(replace, text)


def shell_command(text: str) -> str:
    """An ExecStart as a command for the shell: each word quoted, variables as systemd expands them."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise RefusedError(
            "exec", f"its quotes are not understood: {error}", "write the command by hand"
        ) from error
    if not words:
        raise RefusedError("exec", "it is empty", "write the command by hand")
    return " ".join(_word(word) for word in words)


def _word(word: str) -> str:
    if re.fullmatch(r"\$[A-Za-z_]\w*", word):
        return word  # systemd splits it at blanks, and so does the shell
    parts, place = [], 0
    for match in _VARIABLE.finditer(word):
        parts.append(
            shlex.quote(word[place : match.start()].replace("$$", "$")) if match.start() > place else ""
        )
        parts.append(f'"${{{match[1] or match[2]}}}"')
        place = match.end()
    rest = word[place:].replace("$$", "$")
    return "".join(parts) + (shlex.quote(rest) if rest or not parts else "")
