"""Every error that Foliot raises, in one tree.

FoliotError
├── CronExpressionInvalidError       a cron expression fails validation
│   └── InvalidCronExpressionError   ... because its text breaks the grammar
├── FieldParseError                  one field of it cannot be read (the cause of the former)
├── CronCalculationError             no occurrence can be calculated
│   └── NeverMatchesError            ... because no date ever matches
├── InvalidTimezoneError             no such time zone
├── InvalidDurationError             a duration such as "5m" cannot be read
├── InvalidScheduleError             any other argument of a schedule is wrong
└── NaiveInstantError                a datetime without a time zone where an instant is needed

The names, sentences and details of the cron errors are those of the declarative scheduler's Error
Model. An error takes facts and writes its own sentence; `details` holds the facts under snake_case
keys; `hint` says what would be right, and is attached as a note, so a traceback shows it too.
"""

from __future__ import annotations

from typing import Any

_SHOWN = 200
_KEPT = 1100


class FoliotError(Exception):
    """The base of everything Foliot raises on purpose."""

    def __init__(
        self, message: str, *, details: dict[str, Any] | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details or {}
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")


class CronExpressionInvalidError(FoliotError, ValueError):
    """A cron expression fails validation."""

    def __init__(
        self,
        expression: object,
        field: str,
        reason: str,
        *,
        position: int = 0,
        hint: str | None = None,
    ) -> None:
        shown = shorten(expression)
        super().__init__(
            f'Invalid cron expression "{shown}": {field} field {reason}',
            details={"expression": _kept(expression), "field": field, "reason": reason},
            hint=hint,
        )
        self.position = position


class InvalidCronExpressionError(CronExpressionInvalidError):
    """The text of a cron expression breaks the grammar of its dialect.

    `position` is the index of the first character that is wrong.
    """


class FieldParseError(FoliotError, ValueError):
    """One field of a cron expression cannot be read; `offset` is the bad character's index in it."""

    def __init__(
        self,
        field_name: str,
        field_value: str,
        reason: str,
        *,
        offset: int = 0,
        hint: str | None = None,
    ) -> None:
        super().__init__(
            f'{field_name} field "{shorten(field_value)}" {reason}',
            details={"field_value": _kept(field_value), "field_name": field_name},
            hint=hint,
        )
        self.reason = reason
        self.offset = offset


class CronCalculationError(FoliotError, ValueError):
    """No next or previous occurrence can be calculated.

    `current_time` is None when the rule is refused while it is built, before any time is known.
    """

    def __init__(
        self,
        expression: str,
        cause: Exception,
        *,
        current_time: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(
            f"Failed to calculate next occurrence: {cause}",
            details={
                "expression": _kept(expression),
                "current_time": current_time,
                "cause": cause,
            },
            hint=hint,
        )


class NeverMatchesError(FoliotError, ValueError):
    """A rule names only dates that no calendar has."""

    def __init__(self, days: str, months: str) -> None:
        super().__init__(
            f"no valid execution times: there is no day {days} in month {months}",
            details={"days": days, "months": months},
        )


class InvalidTimezoneError(FoliotError, ValueError):
    """There is no time zone of that name."""

    def __init__(self, timezone: object, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"invalid timezone {shorten(timezone)}: {reason}",
            details={"timezone": _kept(timezone), "reason": reason},
            hint=hint,
        )


class InvalidDurationError(FoliotError, ValueError):
    """A text such as "5m" or "1h30m" was expected."""

    def __init__(self, duration: object, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f'invalid duration "{shorten(duration)}": {reason}',
            details={"duration": _kept(duration), "reason": reason},
            hint=hint,
        )
        self.reason = reason


class InvalidScheduleError(FoliotError, ValueError):
    """An argument of a schedule, other than its text, is wrong."""

    def __init__(self, argument: str, value: object, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"invalid {argument} {shorten(value)}: {reason}",
            details={"argument": argument, "value": _kept(value), "reason": reason},
            hint=hint,
        )


class NaiveInstantError(FoliotError, ValueError):
    """A datetime without a time zone names no instant."""

    def __init__(self, value: object) -> None:
        super().__init__(
            f"expected a datetime with a time zone, got {shorten(value)}",
            details={"value": _kept(value)},
            hint="use datetime.now(timezone.utc), or add tzinfo=ZoneInfo(...)",
        )


def shorten(value: object) -> str:
    """The value on one line of bounded length: an error must not carry megabytes or control codes."""
    text = value[: _SHOWN + 1] if isinstance(value, str) else repr(value)
    if len(text) > _SHOWN:
        text = text[:_SHOWN] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _kept(value: object) -> object:
    return value[:_KEPT] if isinstance(value, str) else value
