"""Files beside the config file that it names: paths and globs, from the top of the repository.

    jobs/*.yaml     * and ? stop at a slash          **/x.yaml     ** goes through directories

They are told with the names in order, and bounded: 200 files, and 5 MB of them all. Only plain files count: a
link could lead anywhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from foliot.errors import FoliotError

MOST_FILES = 200
LARGEST_ALL = 5_000_000
_BUNDLE = b"#foliot-bundle "  # how a config begins that is kept together with its files
Files = Callable[[Sequence[str]], Mapping[str, bytes]]


class FilesRefusedError(FoliotError):
    """Too many files match, or too large ones."""


def no_files(_: Sequence[str]) -> Mapping[str, bytes]:
    """Where there is nothing beside a text."""
    return {}


def pick(sizes: Iterable[tuple[str, int]], patterns: Sequence[str]) -> list[str]:
    """The names that match a pattern, in order. FilesRefusedError beyond the bounds."""
    forms = [_Form(pattern) for pattern in patterns]
    found = {name: size for name, size in sizes if any(form.matches(name) for form in forms)}
    if len(found) > MOST_FILES:
        raise FilesRefusedError(f"{len(found):,} files match, and at most {MOST_FILES} may")
    if (total := sum(found.values())) > LARGEST_ALL:
        raise FilesRefusedError(f"the files have {total:,} bytes, and at most {LARGEST_ALL:,} are read")
    return sorted(found)


class _Form:
    """A glob, matched component by component, without going back: no pattern takes long for a name."""

    def __init__(self, pattern: str) -> None:
        *folders, last = pattern.split("/")
        self._parts = [None if part == "**" else _part(part) for part in folders] + [_part(last)]

    def matches(self, name: str) -> bool:
        reached = self._through({0})  # how many parts of the pattern may be behind us
        for component in name.split("/"):
            ahead = [number for number in reached if number < len(self._parts)]
            reached = self._through({after for number in ahead for after in self._step(number, component)})
        return len(self._parts) in reached

    def _step(self, number: int, component: str) -> tuple[int, ...]:
        part = self._parts[number]
        if part is None:
            return (number,)  # ** goes through one more directory
        return (number + 1,) if part.fullmatch(component) else ()

    def _through(self, reached: set[int]) -> set[int]:
        """** may also stand for no directory."""
        for number, part in enumerate(self._parts):
            if part is None and number in reached:
                reached.add(number + 1)
        return reached


def _part(pattern: str) -> re.Pattern[str]:
    """One component. What stands between two * is taken where it first fits (`?>`), and never elsewhere."""
    first, *others = [_literal(piece) for piece in re.split(r"\*+", pattern)]
    if not others:
        return re.compile(first, re.DOTALL)
    *middle, last = others
    return re.compile(first + "".join(f"(?>.*?{piece})" for piece in middle) + ".*" + last, re.DOTALL)


def _literal(piece: str) -> str:
    return ".".join(re.escape(text) for text in piece.split("?"))


def files_below(folder: Path) -> Files:
    """The files of a directory."""

    def read(patterns: Sequence[str]) -> Mapping[str, bytes]:
        return {name: (folder / name).read_bytes() for name in pick(_sizes(folder), patterns)}

    return read


def _sizes(folder: Path) -> Iterable[tuple[str, int]]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path.stat().st_size


# -- kept together ---------------------------------------------------------------------------------


class Noted:
    """Reads files, and remembers which: what is kept of a config must be all that it was made of."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.asked: dict[str, dict[str, bytes]] = {}

    def __call__(self, patterns: Sequence[str]) -> Mapping[str, bytes]:
        """The files that match."""
        key = "\n".join(patterns)
        if key not in self.asked:
            self.asked[key] = dict(self._files(patterns))
        return self.asked[key]


def bundle(config: bytes, noted: Noted) -> bytes:
    """A config together with the files that it was read with; alone it is as it was."""
    if not noted.asked:
        return config
    facts: dict[str, Any] = {
        "config": _text(config),
        "asked": {
            key: {name: _text(data) for name, data in found.items()} for key, found in noted.asked.items()
        },
    }
    return _BUNDLE + json.dumps(facts, ensure_ascii=False).encode("utf-8", "surrogateescape")


def unbundle(kept: bytes, files: Files) -> tuple[bytes, Files]:
    """A config, and what reads its files: those that are kept with it, if any are."""
    if not kept.startswith(_BUNDLE):
        return kept, files
    try:
        facts = json.loads(kept[len(_BUNDLE) :].decode("utf-8", "surrogateescape"))
        asked = {
            key: {name: _bytes(text) for name, text in found.items()} for key, found in facts["asked"].items()
        }
        return _bytes(facts["config"]), lambda patterns: asked.get("\n".join(patterns), {})
    except (ValueError, KeyError, AttributeError, TypeError):
        return kept, files  # it is a comment of its author, and no bundle


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
