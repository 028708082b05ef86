"""A YAML file as a tree of nodes that know their places: the only module that knows the YAML library.

The library gives events (this text, here; a mapping begins, there), and nothing is ever made of them but
the nodes below: no tag can name a class, no alias can multiply. What YAML has and a list of jobs does
not need is refused: aliases, anchors, tags, directives, a second document, keys that are no text, keys
that stand twice. A scalar is kept as it is written; what a plain one means is YAML 1.2's core schema, where
`on` and `12:30` are texts.

Bounds: LARGEST_FILE bytes, DEEPEST levels, MOST_NODES nodes. Events are taken one by one, and nothing here
calls itself, so that a file beyond them costs no more than one within.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import yaml

from foliot.doors.rollcron.report import Report, StopError, split_lines
from foliot.errors import shorten

LARGEST_FILE = 1_000_000
DEEPEST = 32
MOST_NODES = 150_000

# libyaml, where the library was built with it (all wheels are); the same in Python takes 18 times as long.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# What YAML does not allow, and the three line breaks that YAML 1.1 has and editors have not.
_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_NUMBER = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_NOTHINGS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = frozenset(("true", "True", "TRUE", "false", "False", "FALSE"))

Kind = Literal["text", "number", "boolean", "nothing"]


class Scalar(NamedTuple):
    """A single value, as it is written; `is_plain`: without quotes, and no block."""

    line: int
    column: int
    text: str
    is_plain: bool

    @property
    def kind(self) -> Kind:
        """What YAML 1.2 takes it for."""
        if not self.is_plain:
            return "text"
        if self.text in _NOTHINGS:
            return "nothing"
        if self.text in _BOOLEANS:
            return "boolean"
        return "number" if _NUMBER.fullmatch(self.text) else "text"


class Sequence(NamedTuple):
    """A list."""

    line: int
    column: int
    items: list[Any]


class Mapping(NamedTuple):
    """Values by their keys; each with the place of its key."""

    line: int
    column: int
    entries: dict[str, tuple[Scalar, Any]]


class Refused(NamedTuple):
    """A value that was refused already, so that it causes no second error."""

    line: int
    column: int


Node = Scalar | Sequence | Mapping | Refused


def decode(data: bytes | str, report: Report) -> str:
    """The text of a file, within its bounds and without what YAML does not allow."""
    if isinstance(data, bytes):
        _check_size(len(data), report)
        data = _decoded(data, report)
    else:
        _check_size(len(data.encode("utf-8", "surrogatepass")), report)
    text = data.removeprefix("\ufeff")
    report.text = text
    if wrong := _FORBIDDEN.search(text):
        name = ascii(wrong[0])[1:-1]
        hint = f'remove it, or write it as an escape, in double quotes: "{name}"'
        report.stop(*_end_of(text[: wrong.start()]), f"the character {name} has no place here", hint=hint)
    return text


def _check_size(size: int, report: Report) -> None:
    if size > LARGEST_FILE:
        hint = "put long commands into scripts, or divide the jobs among repositories"
        report.stop(1, 1, f"the file is larger than {LARGEST_FILE:,} bytes", hint=hint)


def _decoded(data: bytes, report: Report) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        report.stop(*_end_of(before), "the file is not UTF-8 from here on", hint="save it as UTF-8")


def _end_of(text: str) -> tuple[int, int]:
    lines = split_lines(text)
    return len(lines), len(lines[-1]) + 1


def read_tree(text: str, report: Report) -> Node | None:
    """The file's only document; None if there is none.

    Of a file with a syntax error the jobs before it are read, so that all their errors are told at once.
    """
    builder = _Builder(report)
    try:
        for event in _events(text):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        builder.refuse_syntax(error)
        builder.drop_last_job()
    except yaml.YAMLError as error:
        report.stop(1, 1, f"not valid YAML: {shorten(str(error))}")
    return builder.root


def _events(text: str) -> Iterator[Any]:
    yield from yaml.parse(text, Loader=_LOADER)


class _Open:
    """A collection that is being read; of a mapping, its last key, and whether its value is still to come."""

    __slots__ = ("awaits_value", "key", "node")

    def __init__(self, node: Mapping | Sequence) -> None:
        self.node = node
        self.key: Scalar | Refused | None = None
        self.awaits_value = False


class _Builder:
    """Makes nodes of events. It keeps its own stack, so the depth of a file costs no recursion."""

    def __init__(self, report: Report) -> None:
        self.root: Node | None = None
        self._report = report
        self._open: list[_Open] = []
        self._nodes = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        """Go on by one event."""
        match event:
            case yaml.ScalarEvent():
                self._take_scalar(event)
            case yaml.MappingStartEvent():
                self._enter(event, Mapping(*_place(event), {}))
            case yaml.SequenceStartEvent():
                self._enter(event, Sequence(*_place(event), []))
            case yaml.CollectionEndEvent():
                self._open.pop()
            case yaml.AliasEvent():
                self._take_alias(event)
            case yaml.DocumentStartEvent():
                self._begin_document(event)
            case _:  # ends, which say nothing
                pass

    def _begin_document(self, event: Any) -> None:
        self._documents += 1
        line, column = _place(event)
        if self._documents > 1:
            self._report.stop(line, column, "a second document begins here", hint="put all jobs into one")
        if event.version not in (None, (1, 2)) or event.tags:
            self._report.add(
                line, column, "directives are not read", hint="remove the lines that begin with %"
            )

    def _take_alias(self, event: Any) -> None:
        name = shorten(event.anchor)
        hint = f'write the value out; a text that begins with * needs quotes: "*{name}"'
        self._refuse(_place(event), f"the alias *{name} is not read", hint)
        self._attach(Refused(*_place(event)))

    def _take_scalar(self, event: Any) -> None:
        place = _place(event)
        self._refuse_extras(event, place)
        is_tagged = event.tag is not None
        self._attach(Refused(*place) if is_tagged else Scalar(*place, event.value, not event.style))

    def _enter(self, event: Any, node: Mapping | Sequence) -> None:
        place = node.line, node.column
        self._refuse_extras(event, place)
        self._attach(node if event.tag is None else Refused(*place))
        self._open.append(_Open(node))
        if len(self._open) > DEEPEST:
            self._report.stop(node.line, node.column, f"nested more than {DEEPEST} levels deep")

    def _attach(self, node: Node) -> None:
        """Give a node to the collection that it stands in."""
        self._nodes += 1
        if self._nodes > MOST_NODES:
            self._report.stop(node.line, node.column, f"the file has more than {MOST_NODES:,} values")
        if not self._open:
            self.root = node
            return
        inside = self._open[-1]
        if isinstance(inside.node, Sequence):
            inside.node.items.append(node)
        elif inside.awaits_value:
            inside.awaits_value = False
            if isinstance(inside.key, Scalar):
                inside.node.entries.setdefault(inside.key.text, (inside.key, node))
        else:
            inside.awaits_value = True
            self._take_key(inside, inside.node, node)

    def _take_key(self, inside: _Open, mapping: Mapping, node: Node) -> None:
        place = node.line, node.column
        inside.key = node if isinstance(node, Scalar) else Refused(*place)
        if isinstance(node, Mapping | Sequence):
            self._refuse(place, "a key must be a text", "write the name of a job or of a field, and a colon")
        elif isinstance(node, Scalar) and node.text in mapping.entries:
            first = mapping.entries[node.text][0].line
            self._refuse(place, f"stands here and in line {first}", "keep one of the two")

    def _refuse_extras(self, event: Any, place: tuple[int, int]) -> None:
        if event.anchor is not None:
            hint = "remove it; a text that begins with & needs quotes"
            self._refuse(place, f"the anchor &{shorten(event.anchor)} is not read", hint)
        if event.tag is not None:
            hint = "remove it; a text that begins with ! needs quotes"
            self._refuse(place, f"the tag {shorten(event.tag)} is not read", hint)

    def _refuse(self, place: tuple[int, int], message: str, hint: str) -> None:
        job, field = self._whose()
        self._report.add(*place, message, job=job, field=field, hint=hint)

    def _whose(self) -> tuple[str | None, str | None]:
        """The job and the field whose value is being read."""
        path = [inside.key.text for inside in self._open[:-1] if isinstance(inside.key, Scalar)]
        if self._open and self._open[-1].awaits_value and isinstance(self._open[-1].key, Scalar):
            path.append(self._open[-1].key.text)
        if path[:1] != ["jobs"] or len(path) == 1:
            return None, ".".join(path) or None
        return path[1], ".".join(path[2:]) or None

    def refuse_syntax(self, error: yaml.MarkedYAMLError) -> None:
        """Say what the library could not read, and what the author may have meant."""
        job, field = self._whose()
        mark = error.problem_mark or error.context_mark
        context = error.context or ""
        if error.context_mark and ("alias" in context or "anchor" in context or "quoted" in context):
            mark = error.context_mark  # where it began; the library stumbled only later
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        character = self._report.line(line)[column - 1 : column]
        message = ", ".join(part for part in (context, error.problem or "") if part)
        self._report.add(
            line, column, f"not valid YAML: {shorten(message)}",
            job=job, field=field, hint=_syntax_hint(message, character),
        )  # fmt: skip

    def drop_last_job(self) -> None:
        """Forget the job at which the reading ended: what it lacks may stand further on."""
        jobs = self.root.entries.get("jobs") if isinstance(self.root, Mapping) else None
        if jobs is None or not isinstance(jobs[1], Mapping) or not jobs[1].entries:
            raise StopError
        jobs[1].entries.popitem()


def _place(event: Any) -> tuple[int, int]:
    mark = event.start_mark
    return mark.line + 1, mark.column + 1


def _syntax_hint(message: str, character: str) -> str:
    if "alias" in message:
        return 'a text that begins with * needs quotes: "*/5 * * * *"'
    if "cannot start any token" in message:
        is_tab = character == "\t"
        return (
            "indent with spaces, not with tabs"
            if is_tab
            else f"a text that begins with {character} needs quotes"
        )
    if "mapping values are not allowed" in message:
        return "a text with a colon and a space in it needs quotes; else check the indentation"
    if "escape" in message:
        return "in double quotes a backslash begins an escape; single quotes take it as it is"
    if "quoted scalar" in message:
        return "a quote is opened here and never closed"
    return "check the indentation and the quotes of this line and of the one before"
