"""What a command ends with; scripts rely on these numbers."""

from __future__ import annotations

from enum import IntEnum

from foliot.errors import (
    CronCalculationError,
    CronExpressionInvalidError,
    FoliotError,
    InvalidTimezoneError,
)


class ExitCode(IntEnum):
    """The exit codes that commands share."""

    OK = 0
    ERROR = 1
    USAGE = 2
    INVALID = 3
    FINDINGS = 9
    INTERRUPTED = 130


_INVALID = (CronExpressionInvalidError, CronCalculationError, InvalidTimezoneError)


def exit_code_of(error: FoliotError) -> ExitCode:
    """What a command ends with after an error."""
    return ExitCode.INVALID if isinstance(error, _INVALID) else ExitCode.ERROR
