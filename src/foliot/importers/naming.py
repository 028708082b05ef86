"""Ids for jobs: the program that a command runs, without what is wrapped around it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_PARTS = re.compile(r"&&|\|\||[;|]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SIMPLE = frozenset(("cd", "sleep", "test", "[", "[[", "export", "umask", "set", ".", "source", "true", "if"))
# Programs that run another one: how many arguments stand between the two, options apart.
_WRAPPERS = {
    **dict.fromkeys(("nice", "ionice", "env", "exec", "time", "chronic", "sudo", "nohup", "setsid"), 0),
    **dict.fromkeys(("flock", "timeout", "chrt"), 1),
}  # fmt: skip
_WITH_VALUE = frozenset(("-n", "-c", "-u", "-w", "-k"))
_INTERPRETERS = frozenset(("sh", "bash", "python", "python3", "php", "perl", "ruby", "node", "run-parts"))
_LONGEST = 40


def id_of(command: str, taken: set[str]) -> str:
    """An id that no other job has; `taken` gets it."""
    base = _stem(command)
    found, count = base, 1
    while found.lower() in taken:
        count += 1
        found = f"{base}-{count}"
    taken.add(found.lower())
    return found


def clean_id(text: str) -> str:
    """A text as an id: letters, digits, _ and - only."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:_LONGEST].strip("-") or "job"


def _stem(command: str) -> str:
    for part in _PARTS.split(command):
        words = [word for word in part.strip(" ({").split() if not _ASSIGNMENT.match(word)]
        words = _unwrapped(words)
        if words and PurePosixPath(words[0]).name not in _SIMPLE:
            return clean_id(_name(words))
    return "job"


def _unwrapped(words: list[str]) -> list[str]:
    while words and PurePosixPath(words[0]).name in _WRAPPERS:
        is_flock = PurePosixPath(words[0]).name == "flock"
        skipped = _WRAPPERS[PurePosixPath(words.pop(0)).name]
        while words and (words[0].startswith("-") or skipped):
            word = words.pop(0)
            if word.startswith("-"):
                if word in _WITH_VALUE and words and not (is_flock and word == "-n"):
                    words.pop(0)
            else:
                skipped -= 1
    return words


def _name(words: list[str]) -> str:
    program = PurePosixPath(words[0].strip("\"'()`$")).name
    if program in _INTERPRETERS:
        script = next((word for word in words[1:] if not word.startswith("-")), program)
        is_folder = program == "run-parts"
        program = PurePosixPath(script.strip("\"'")).name or program
        if is_folder:
            return program
    return program.rpartition(".")[0] or program
