"""How the commands speak: tables and sentences for people, JSON for programs, errors for both."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from textwrap import fill
from typing import Any, TextIO

import click

from foliot.cli.caret import draw_caret
from foliot.errors import FoliotError

_USUAL_COLUMNS = 80


def prepare_streams() -> None:
    """Let a character that a stream cannot encode be escaped rather than end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence(stream: TextIO | None) -> None:
    """Let a stream lead nowhere, so that what it still holds can be flushed when the program ends."""
    if stream is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write(text: str, stream: TextIO | None) -> None:
    """Write lines at once."""
    write_part(text + "\n", stream)


def write_part(text: str, stream: TextIO | None) -> bool:
    """Write text at once, as it is. Returns False if no one reads the stream any more."""
    if stream is None:  # the shell closed it: `>&-`
        return False
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # The reader has seen enough. The command goes on, and ends with the exit code it earned.
        silence(stream)
        return False
    return True


def say(word: str, text: str, stream: TextIO | None = None) -> None:
    """A sentence with a word before it, such as `ok` or `note`; on stdout, if nothing else is said."""
    to = stream or sys.stdout
    write(labelled(word, text, to), to)


def write_json(document: Mapping[str, Any]) -> None:
    """One JSON document on stdout. It is pure ASCII, so no encoding and no terminal can mind it."""
    write(json.dumps(_json_safe(document), indent=2), sys.stdout)


def write_table(headings: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> None:
    """Columns under headings, in colour on a terminal."""
    if is_styled(sys.stdout):
        write(_draw_with_rich(headings, rows, styles), sys.stdout)
        return
    table = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
    write("\n".join(lines), sys.stdout)


def write_error(error: FoliotError, expression: str | None, *, as_json: bool) -> None:
    """What is wrong, where in the expression, and what would be right.

    For people it goes to stderr; for programs to stdout, where they look for the answer.
    """
    position = getattr(error, "position", None)
    if as_json:
        kind = type(error).__name__
        write_error_json(kind, error.message, position=position, hint=error.hint, details=error.details)
        return
    lines = [labelled("error", error.message, sys.stderr)]
    if position is not None and expression is not None:
        encoding = getattr(sys.stderr, "encoding", None) or "ascii"
        lines += (f"  {line}" for line in draw_caret(expression, position, encoding=encoding))
    if error.hint:
        lines.append(labelled("hint", error.hint, sys.stderr))
    write("\n".join(lines), sys.stderr)


def write_error_json(
    kind: str,
    message: str,
    *,
    position: int | None = None,
    hint: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """An error as a JSON document, with the same keys for every kind."""
    facts = {"type": kind, "message": message, "position": position, "hint": hint, "details": details or {}}
    write_json({"error": facts})


_LABEL_STYLES = {
    "ok": "green",
    "note": "cyan",
    "rule": "cyan",
    "warning": "yellow",
    "error": "red",
    "hint": "cyan",
}


def labelled(word: str, text: str, stream: TextIO | None) -> str:
    """A line such as `warning: the text`; on a terminal it is wrapped, and its label has a colour."""
    line = wrapped(f"{word}: {visible(text)}", stream, len(f"{word}: "))
    if not is_styled(stream):
        return line
    end = len(f"{word}:")
    return click.style(line[:end], fg=_LABEL_STYLES[word], bold=True) + line[end:]


def wrapped(line: str, stream: TextIO | None, indent: int) -> str:
    """A line that is folded where the terminal ends, if it goes to one. No word is broken."""
    if stream is None or not stream.isatty() or not line.isascii():  # else columns are not characters
        return line
    columns = os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    return fill(line, columns, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def is_styled(stream: TextIO | None) -> bool:
    """Whether a stream may carry escape codes."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def visible(text: str) -> str:
    """The text with everything escaped that could steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _draw_with_rich(headings: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> str:
    from rich.console import Console  # noqa: PLC0415 - see the package's docstring
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style) for cell, style in zip(row, styles, strict=True)))
    console = Console(file=sys.stdout, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return capture.get().rstrip("\n")


def _json_safe(value: Any) -> Any:
    if isinstance(value, str):  # half a surrogate pair, from an argument that is no UTF-8, is no JSON
        return value.encode("utf-8", "backslashreplace").decode()
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(item) for item in value]
    return value.isoformat() if isinstance(value, date) else str(value)
