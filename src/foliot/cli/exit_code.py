"""What a command ends with; scripts rely on these numbers."""

from __future__ import annotations

from enum import IntEnum

from foliot.doors.celery_beat.errors import BeatSettingError, EntriesRefusedError
from foliot.errors import (
    AmbiguousNameError,
    ConfigInvalidError,
    ConfigNotFoundError,
    CronCalculationError,
    CronExpressionInvalidError,
    FoliotError,
    InvalidAppError,
    InvalidStoreError,
    InvalidTimezoneError,
    JobNotFoundError,
    RunNotFoundError,
    SourceNotFoundError,
    StoreUnavailableError,
)
from foliot.errors_access import InvalidTokenError, TokenNotFoundError
from foliot.sources.git.errors import (
    ForeignRepositoryError,
    InvalidRepositoryError,
    RemoteUnavailableError,
    RevisionNotFoundError,
)


class ExitCode(IntEnum):
    """The exit codes that commands share."""

    OK = 0
    ERROR = 1
    USAGE = 2
    INVALID = 3
    NOT_FOUND = 4
    UNREACHABLE = 6
    RUN_FAILED = 8
    FINDINGS = 9
    INTERRUPTED = 130


_CODES: dict[type[FoliotError], ExitCode] = {
    AmbiguousNameError: ExitCode.USAGE,
    BeatSettingError: ExitCode.INVALID,
    EntriesRefusedError: ExitCode.INVALID,
    CronExpressionInvalidError: ExitCode.INVALID,
    CronCalculationError: ExitCode.INVALID,
    InvalidTimezoneError: ExitCode.INVALID,
    InvalidStoreError: ExitCode.INVALID,
    InvalidAppError: ExitCode.INVALID,
    InvalidTokenError: ExitCode.INVALID,
    InvalidRepositoryError: ExitCode.INVALID,
    ConfigInvalidError: ExitCode.INVALID,
    ConfigNotFoundError: ExitCode.NOT_FOUND,
    JobNotFoundError: ExitCode.NOT_FOUND,
    RunNotFoundError: ExitCode.NOT_FOUND,
    SourceNotFoundError: ExitCode.NOT_FOUND,
    TokenNotFoundError: ExitCode.NOT_FOUND,
    StoreUnavailableError: ExitCode.UNREACHABLE,
    ForeignRepositoryError: ExitCode.UNREACHABLE,
    RemoteUnavailableError: ExitCode.UNREACHABLE,
    RevisionNotFoundError: ExitCode.NOT_FOUND,
}


def exit_code_of(error: FoliotError) -> ExitCode:
    """What a command ends with after an error."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), ExitCode.ERROR)
