"""All errors of a file, in the order of its lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from foliot.errors import ConfigInvalidError, ConfigProblem

MOST_PROBLEMS = 1000
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class StopError(Exception):
    """Nothing more of the file can be read; why, the report knows."""


def split_lines(text: str) -> list[str]:
    """The lines as YAML counts them; `str.splitlines` knows more line breaks than that."""
    return _LINE_BREAK.split(text)


class Report:
    """Collects what is wrong with a file; `text` is what the file says, once that is known."""

    def __init__(self, file: str) -> None:
        self.text = ""
        self.file = file
        self._problems: list[ConfigProblem] = []
        self._lines: list[str] | None = None

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found so far."""
        return not self._problems

    def add(  # noqa: PLR0913 - a problem has as many facts
        self,
        line: int,
        column: int,
        message: str,
        *,
        job: str | None = None,
        field: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Note a problem. Nobody reads more than a thousand of them, so there it ends."""
        is_last = len(self._problems) == MOST_PROBLEMS - 1
        if is_last:
            message, hint = "too many errors: the rest of the file was not looked at", "mend the others first"
        self._problems.append(
            ConfigProblem(
                file=self.file, line=line, column=column, job=job, field=field, message=message, hint=hint
            )
        )
        if is_last:
            raise StopError

    def stop(self, line: int, column: int, message: str, *, hint: str | None = None) -> NoReturn:
        """Note a problem after which nothing can be read."""
        self.add(line, column, message, hint=hint)
        raise StopError

    def line(self, number: int) -> str:
        """A line of the file."""
        if self._lines is None:
            self._lines = split_lines(self.text)
        return self._lines[number - 1] if number <= len(self._lines) else ""

    @property
    def problems(self) -> list[ConfigProblem]:
        """What was found, in the order of the lines."""
        return sorted(self._problems, key=lambda found: (found.line, found.column))

    def check(self) -> None:
        """Raise what was found, if anything was."""
        check_all([self])


def check_all(reports: Sequence[Report]) -> None:
    """Raise what was found in these files, if anything was."""
    if problems := [problem for report in reports for problem in report.problems]:
        raise ConfigInvalidError(problems)
