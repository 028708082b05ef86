"""How lines look, where a program lets Foliot configure its logging: text for people, JSON for machines."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from foliot.errors import InvalidPolicyError
from foliot.observability.log import Line, quoted

FORMATS = ("auto", "pretty", "json")
_LEVELS = ("debug", "info", "warning", "error", "critical")
_COLOURS = {"DEBUG": "2", "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}


def configure_logging(
    format: str = "auto",  # noqa: A002 - the word that people use, here and on the command line
    *,
    level: str = "info",
    stream: TextIO | None = None,
) -> None:
    """Write Foliot's lines to a stream (stderr): pretty on a terminal, JSON otherwise, or as `format` says.

    For programs that do not configure logging themselves. It changes only the logger `foliot`. Calling it
    again replaces the earlier configuration.
    """
    if format not in FORMATS:
        raise InvalidPolicyError("log format", format, "is not known", hint=f"one of: {', '.join(FORMATS)}")
    if level not in _LEVELS:
        raise InvalidPolicyError("log level", level, "is not known", hint=f"one of: {', '.join(_LEVELS)}")
    stream = stream or sys.stderr
    is_terminal = stream.isatty()
    if format == "auto":
        format = "pretty" if is_terminal else "json"  # noqa: A001 - as above
    handler = _Handler(stream)
    has_colours = is_terminal and not os.environ.get("NO_COLOR")
    handler.setFormatter(PrettyFormatter(has_colours=has_colours) if format == "pretty" else JsonFormatter())
    logger = logging.getLogger("foliot")
    for old in [old for old in logger.handlers if isinstance(old, _Handler)]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False


class _Handler(logging.StreamHandler[TextIO]):
    """A class of our own, so that `configure_logging` finds its handler again."""


class JsonFormatter(logging.Formatter):
    """One object for each line: `at`, `level`, `event`, and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": f"{at[:-6]}Z", "level": record.levelname.lower()}
        if isinstance(record.msg, Line):
            line |= {"event": record.msg.event} | record.msg.fields
            if "component" in record.msg.fields:  # the beat door's lines: their readers know upper case
                line["level"] = record.levelname
        else:
            line |= {"event": "said", "text": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class PrettyFormatter(logging.Formatter):
    """`2026-11-15 12:00:00Z warning  start_late  run=… late=12.5`, with colours if they are wanted."""

    def __init__(self, *, has_colours: bool) -> None:
        super().__init__()
        self._has_colours = has_colours

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        level = self._painted(f"{record.levelname.lower():8}", _COLOURS.get(record.levelname, "0"))
        words = [f"{at:%Y-%m-%d %H:%M:%S}Z", level]
        if isinstance(record.msg, Line):
            words.append(self._painted(f"{record.msg.event:19}", "1"))
            words += [f"{self._painted(f'{k}=', '2')}{quoted(v)}" for k, v in record.msg.fields.items()]
        else:
            words.append(record.getMessage())
        text = " ".join(words).rstrip()
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text

    def _painted(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._has_colours else text
