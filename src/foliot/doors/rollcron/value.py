"""The values of fields: each is read by a small function that says what would be right.

A reader takes a scalar and returns what it means, or raises: `WrongValueError`, or the error of the part
that knows better (the cron language, the policies). `Value.read` turns either into a problem with its
place, so that one wrong field hides no other. A `Kind` is a reader with the JSON Schema of what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeVar

from foliot.doors.rollcron.report import Report
from foliot.doors.rollcron.yaml_tree import Mapping, Node, Refused, Scalar, Sequence
from foliot.errors import (
    CronExpressionInvalidError,
    FoliotError,
    InvalidDurationError,
    InvalidJobError,
    shorten,
)
from foliot.model.job import LONGEST_NAME
from foliot.schedules.duration import format_duration, parse_duration

T = TypeVar("T")
LONGEST_ARGUMENT = 131_071  # bytes: what Linux lets a program be given in one piece
DURATION = r"(?=.)([0-9]{1,12}d)?([0-9]{1,12}h)?([0-9]{1,12}m)?([0-9]{1,12}s)?"
_DURATION = re.compile(DURATION, re.ASCII)
_DURATION_HINT = "write whole numbers with d, h, m or s, such as 30s, 5m or 1h30m"
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]{0,8})", re.ASCII)
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]{0,8})?(\.[0-9]{1,9})?", re.ASCII)
_TRUE_WORDS = frozenset(("true", "on", "yes", "y", "enabled", "1"))
_FALSE_WORDS = frozenset(("false", "off", "no", "n", "disabled", "0"))
_LONGEST_WORD = 30
_KINDS = {"number": "a number", "boolean": "true or false", "text": "a text"}


class Kind(NamedTuple):
    """What a value may be. `read` gives None for one that is wrong, and has reported it."""

    read: Callable[[Value], Any]
    schema: dict[str, Any]


class WrongValueError(Exception):
    """A value that cannot be right, and what would be."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Value(NamedTuple):
    """What a field was given, and whose field it is."""

    node: Node
    job: str | None
    field: str | None
    report: Report

    def read(self, reader: Callable[[Scalar], T]) -> T | None:
        """What a reader makes of it; None if it is wrong, which is then reported."""
        try:
            return reader(self._scalar())
        except WrongValueError as error:
            self.refuse(error.message, hint=error.hint)
        except CronExpressionInvalidError as error:
            self.refuse(error.message, hint=error.hint, offset=error.position)
        except InvalidJobError as error:
            self.refuse_policy(error)
        except FoliotError as error:
            self.refuse(error.message, hint=error.hint)
        return None

    def refuse(self, message: str, *, hint: str | None = None, offset: int | None = None) -> None:
        """Report a problem; `offset` is the index in the text of the character that is wrong."""
        if isinstance(self.node, Refused):
            return
        column = self.node.column
        if isinstance(self.node, Scalar) and offset is not None:
            column += self._shown_at(self.node, offset)
        self.report.add(self.node.line, column, message, job=self.job, field=self.field, hint=hint)

    def refuse_policy(self, error: InvalidJobError) -> None:
        """Report what a policy said of it."""
        written = self.node.text if isinstance(self.node, Scalar) else error.details["value"]
        self.refuse(f"{shorten(written)} {error.details['reason']}", hint=error.hint)

    def refuse_key(self, key: Scalar, message: str, *, hint: str | None = None) -> None:
        """Report a problem with one of its keys."""
        field = f"{self.field}.{key.text}" if self.field else key.text
        self.report.add(key.line, key.column, message, job=self.job, field=field, hint=hint)

    def entries(self, what: str, hint: str) -> dict[str, tuple[Scalar, Value]]:
        """The entries of a mapping; nothing, with a report, if it is none."""
        if not isinstance(self.node, Mapping):
            self.refuse(f"must be {what}, not {_said(self.node)}", hint=hint)
            return {}
        return {name: (key, self._inner(name, node)) for name, (key, node) in self.node.entries.items()}

    def items(self, what: str, hint: str) -> list[Value]:
        """The items of a list; nothing, with a report, if it is none, or has none."""
        if not isinstance(self.node, Sequence):
            self.refuse(f"must be a list of {what}, not {_said(self.node)}", hint=hint)
            return []
        if not self.node.items:
            self.refuse("is empty", hint=hint)
        return [self._replace(node=node) for node in self.node.items]

    def fields(
        self, known: Collection[str], hint: str, synonyms: dict[str, str] | None = None
    ) -> dict[str, Value]:
        """The known fields of a mapping; others are reported."""
        found = {}
        for name, (key, value) in self.entries("a mapping of fields", hint).items():
            if name in known:
                found[name] = value
            else:
                self.refuse_key(
                    key, "there is no such field", hint=_did_you_mean(name, known, synonyms or {})
                )
        return found

    def _inner(self, name: str, node: Node) -> Value:
        return Value(node, self.job, f"{self.field}.{name}" if self.field else name, self.report)

    def _scalar(self) -> Scalar:
        if isinstance(self.node, Scalar):
            return self.node
        hint = "if it is meant as a text, put it in quotes"
        raise WrongValueError(f"must be a single value, not {_said(self.node)}", hint)

    def _shown_at(self, scalar: Scalar, offset: int) -> int:
        """How far behind its beginning a character of a scalar stands; 0 if escapes or breaks hide it."""
        line, start = self.report.line(scalar.line), scalar.column - 1
        leads = (lead for lead in (0, 1) if line.startswith(scalar.text, start + lead))
        return next((lead + offset for lead in leads), 0)


def _said(node: Node) -> str:
    if isinstance(node, Scalar):
        return "nothing" if node.kind == "nothing" else _KINDS[node.kind]
    return "a list" if isinstance(node, Sequence) else "a mapping"


def _did_you_mean(name: str, known: Collection[str], synonyms: dict[str, str]) -> str:
    if name.lower() in synonyms:
        return synonyms[name.lower()]
    close = get_close_matches(name.lower()[:_LONGEST_WORD], known, n=1)
    return f"did you mean {close[0]}?" if close else f"the fields are {', '.join(known)}"


def text(scalar: Scalar) -> str:
    """A text that is not empty. Numbers and the like need quotes, lest two readers differ about them."""
    kind = scalar.kind
    if kind == "nothing":
        raise WrongValueError("is empty", "give it a value, or remove it")
    if kind != "text":
        hint = f'put it in quotes: "{shorten(scalar.text)}"'
        raise WrongValueError(f"must be a text, not {_KINDS[kind]}", hint)
    if not scalar.text.strip():
        raise WrongValueError("is empty", "give it a value, or remove it")
    return _sound(scalar.text)


def _sound(content: str) -> str:
    """A text that can be stored, and that a program can be given."""
    if "\0" in content:
        raise WrongValueError("has a NUL character in it", "no program can be given one: remove it")
    if not content.isascii() and any("\ud800" <= character <= "\udfff" for character in content):
        raise WrongValueError("has half a character in it", "write the character itself, not an escape")
    return content


def _short(content: str) -> str:
    """A text that is short enough for a program to be given."""
    size = len(content.encode())
    if size > LONGEST_ARGUMENT:
        hint = "put it into a file of the repository"
        raise WrongValueError(f"has {size:,} bytes, and a program can be given {LONGEST_ARGUMENT:,}", hint)
    return content


def command(scalar: Scalar) -> str:
    """What the shell is to run."""
    return _short(text(scalar))


def label(scalar: Scalar) -> str:
    """A text for one line of a log."""
    content = text(scalar)
    if len(content) > LONGEST_NAME or not content.isprintable():
        raise WrongValueError(f"must be one line of at most {LONGEST_NAME} printable characters")
    return content


def environment_text(scalar: Scalar) -> str:
    """A variable's value: as it is written, for an environment has nothing but texts. It may be empty."""
    if scalar.kind == "nothing":
        raise WrongValueError("is empty", 'write "" if the variable is to be empty')
    return _short(_sound(scalar.text))


def path_inside(scalar: Scalar) -> str:
    """A path that does not lead out of the snapshot, as far as its text can tell."""
    content = text(scalar)
    path = PurePosixPath(content)
    if path.is_absolute() or ".." in path.parts or not content.isprintable():
        hint = "the path counts from the top of the repository, such as tools/nightly"
        raise WrongValueError(f"{shorten(content)} does not stay inside the repository", hint)
    return content


def boolean(scalar: Scalar) -> bool:
    """`true` or `false`, and none of YAML 1.1's many other words."""
    if scalar.kind == "boolean":
        return scalar.text.lower() == "true"
    word = scalar.text.lower()
    meant = "true" if word in _TRUE_WORDS else "false" if word in _FALSE_WORDS else "true or false"
    quotes = ", without quotes" if scalar.kind == "text" and word in ("true", "false") else ""
    raise WrongValueError(
        f"must be true or false, not {shorten(scalar.text) or 'nothing'}", f"write {meant}{quotes}"
    )


def duration(scalar: Scalar) -> timedelta:
    """`30s`, `5m`, `1h30m`, `2d`: whole numbers, the larger unit first."""
    if not _DURATION.fullmatch(scalar.text):
        shown = shorten(scalar.text)
        raise WrongValueError(
            f'"{shown}" is no duration' if shown else "is empty", _duration_hint(scalar.text)
        )
    try:
        return parse_duration(scalar.text)
    except InvalidDurationError:
        raise WrongValueError(f"{scalar.text} is too long") from None


def _duration_hint(written: str) -> str:
    """The same duration as it is written here, if there is one."""
    if written.isascii() and written.isdigit() and len(written) < 10:  # noqa: PLR2004 - no more fit a duration
        return f"write {int(written)}s, {int(written)}m or {int(written)}h"
    try:
        meant = format_duration(parse_duration(written.replace(" ", "")))
    except InvalidDurationError:
        return _DURATION_HINT
    return f"write {meant}" if _DURATION.fullmatch(meant) else _DURATION_HINT


def whole_number(scalar: Scalar) -> int:
    """A whole number; `010` is ten to one reader and eight to another, so it is refused."""
    _check_number(scalar, _WHOLE, "a whole number", "such as 3")
    return int(scalar.text)


def decimal(scalar: Scalar) -> float:
    """A number such as `1.5`."""
    _check_number(scalar, _DECIMAL, "a number", "such as 1.5")
    return float(scalar.text)


def _check_number(scalar: Scalar, pattern: re.Pattern[str], what: str, example: str) -> None:
    written = scalar.text.strip()
    is_right = bool(pattern.fullmatch(written)) and any(map(str.isdigit, written))
    if is_right and scalar.is_plain:
        return
    hint = f"write {written}, without quotes" if is_right else example
    trimmed = written.lstrip("0")
    if not is_right and pattern.fullmatch(trimmed) and trimmed:
        hint = f"write {trimmed}: a leading zero is read in two ways"
    raise WrongValueError(f"must be {what}, not {shorten(scalar.text) or 'nothing'}", hint)


def one_of(words: Iterable[Any]) -> Callable[[Scalar], str]:
    """A reader of one of some words."""
    known = tuple(str(word) for word in words)

    def choose(scalar: Scalar) -> str:
        word = scalar.text
        if word in known:
            return word
        close = get_close_matches(word.lower()[:_LONGEST_WORD], known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"one of: {', '.join(known)}"
        raise WrongValueError(f"{shorten(word)} is not known" if word else "is empty", hint)

    return choose


# -- kinds -------------------------------------------------------------------------------------------

NONE: Any = object()  # what was read: there is to be none
_NONE = "none"  # how it is written
_NO_NUL = "[^\\u0000]*"
_NAMED = {"type": "string", "pattern": "^[^\\u0000-\\u001f\\u007f]*\\S[^\\u0000-\\u001f\\u007f]*$"}


def scalar(reader: Callable[[Scalar], Any], **schema: Any) -> Kind:
    """A single value."""
    return Kind(lambda value: value.read(reader), schema)


def matching(pattern: str, what: str, hint: str) -> Kind:
    """A text of a certain form."""
    form = re.compile(pattern, re.ASCII)

    def read(written: Scalar) -> str:
        if form.fullmatch(content := text(written)):
            return content
        raise WrongValueError(f"{shorten(content)} is no {what}", hint)

    return scalar(read, type="string", pattern=f"^(?:{pattern})$")


def at_most(kind: Kind, size: int, hint: str) -> Kind:
    """A text that is no longer than that, in bytes."""

    def read(value: Value) -> str | None:
        content: str | None = kind.read(value)
        if content is not None and (found := len(content.encode())) > size:
            value.refuse(f"has {found:,} bytes, and {size:,} are allowed", hint=hint)
            return None
        return content

    return Kind(read, {**kind.schema, "maxLength": size})


def number_from(least: int, most: int) -> Kind:
    """A whole number within bounds."""

    def read(written: Scalar) -> int:
        found = whole_number(written)
        if not least <= found <= most:
            raise WrongValueError(f"{found} must lie between {least} and {most}")
        return found

    return scalar(read, type="integer", minimum=least, maximum=most)


def list_of(kind: Kind, what: str, hint: str) -> Kind:
    """A list of one item or more."""

    def read(value: Value) -> list[Any] | None:
        found = [kind.read(item) for item in value.items(what, hint)]
        return None if not found or None in found else found

    return Kind(read, {"type": "array", "items": kind.schema, "minItems": 1})


def is_none(node: Node, *, is_text: bool = False) -> bool:
    """Whether the file says `none`; where any text may stand, without quotes."""
    return isinstance(node, Scalar) and node.text == _NONE and (node.is_plain or not is_text)


def or_none(kind: Kind) -> Kind:
    """The same, or `none`."""
    schema = {"anyOf": [{"const": _NONE}, kind.schema]}
    return Kind(lambda value: NONE if is_none(value.node) else kind.read(value), schema)


def either(single: Kind, many: Kind) -> Kind:
    """A single value of one kind, or a list or mapping of another."""

    def read(value: Value) -> Any:
        return (single if isinstance(value.node, Scalar) else many).read(value)

    return Kind(read, {"anyOf": [single.schema, many.schema]})


TEXT = scalar(text, type="string", pattern=f"^{_NO_NUL}\\S{_NO_NUL}$")
COMMAND = scalar(command, **TEXT.schema, maxLength=LONGEST_ARGUMENT)
LABEL = scalar(label, **_NAMED, maxLength=LONGEST_NAME)
AS_WRITTEN = scalar(
    environment_text, type=["string", "number", "boolean"], pattern=f"^{_NO_NUL}$", maxLength=LONGEST_ARGUMENT
)
PATH_INSIDE = scalar(path_inside, **TEXT.schema)
FLAG = scalar(boolean, type="boolean")
SPAN = scalar(duration, type="string", pattern=f"^{DURATION}$")


def word(words: Iterable[Any]) -> Kind:
    """One of some words."""
    return scalar(one_of(words), enum=[str(each) for each in words])
