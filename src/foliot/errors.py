"""Every error that Foliot raises, in one tree.

FoliotError
├── CronExpressionInvalidError       a cron expression fails validation
│   └── InvalidCronExpressionError   ... because its text breaks the grammar
├── FieldParseError                  one field of it cannot be read (the cause of the former)
├── CronCalculationError             no occurrence can be calculated
├── NeverMatchesError                no date ever matches (the cause of the former)
├── InvalidTimezoneError             no such time zone
├── InvalidDurationError             a duration such as "5m" cannot be read
├── InvalidScheduleError             any other argument of a schedule is wrong
├── NaiveInstantError                a datetime without a time zone where an instant is needed
├── InvalidJobError                  a definition cannot be right
│   ├── InvalidPolicyError           ... because of one of its policies
│   └── DamagedRecordError           ... as it was found in a store
├── IllegalTransitionError           an attempt cannot go from one state to another
├── CommandRefusedError              a command on a job is impossible now
├── WaitTimeoutError                 a run has not ended within the given time
├── AppStateError                    an application object cannot do that now
├── ConfigInvalidError               a config file has errors; it carries all of them
├── ConfigNotFoundError              there is no config file
├── InvalidAppError                  what `--app` names is no application
├── InvalidStoreError                a store's URL cannot be right
├── InvalidChannelError              a channel of alerts cannot be right
└── StoreError                       a store could not do its work
    ├── StoreUnavailableError        ... now; whether the write took effect is unknown
    ├── NodeBuriedError              ... for this node: it was declared dead
    ├── StaleRevisionError           ... because the source has another revision now
    ├── JobNotFoundError             ... because there is no such job
    ├── AmbiguousNameError           ... because several jobs have that name
    ├── RunNotFoundError             ... because there is no such run, or it is forgotten
    └── SourceNotFoundError          ... because no source of that name is known

Those of tokens and pipelines are in `foliot.errors_access`.

The names, sentences and details of the cron errors are those of the declarative scheduler's Error
Model. An error takes facts and writes its own sentence; `details` holds the facts under snake_case
keys; `hint` says what would be right, and is attached as a note, so a traceback shows it too.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

from foliot.shown import keep_short as _kept
from foliot.shown import shorten as shorten  # noqa: PLC0414 - for authors of errors
from foliot.shown import without_password as without_password  # noqa: PLC0414 - the same

_MOST_NAMED = 5


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

    def __reduce__(self) -> tuple[Any, ...]:
        # The constructors take facts, not the message: a process pool could not rebuild them by `args`.
        return _rebuild, (type(self), self.args, self.__dict__)


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
    """A rule names only dates that no calendar has, or only times that the clocks of a zone leave out."""

    def __init__(self, days: str, months: str, *, timezone: str | None = None) -> None:
        skips = f"the clocks of {timezone} skip each of its times when they go forward"
        reason = skips if timezone else f"there is no day {days} in month {months}"
        details = {"days": days, "months": months} | ({"timezone": timezone} if timezone else {})
        super().__init__(f"no valid execution times: {reason}", details=details)


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


class InvalidJobError(FoliotError, ValueError):
    """A definition cannot be right."""

    def __init__(self, field: str, value: object, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"invalid {field} {shorten(value)}: {reason}",
            details={"field": field, "value": _kept(value), "reason": reason},
            hint=hint,
        )


class InvalidPolicyError(InvalidJobError):
    """One of a job's policies cannot be right."""


class DamagedRecordError(InvalidJobError):
    """A record, as it was found in a store, cannot be read.

    `flaw` is one of `model.damage.Flaw`. `expected`: the type that the field must have, if its type is wrong.
    """

    def __init__(
        self, field: str, value: object, reason: str, *, flaw: str = "value", expected: str | None = None
    ) -> None:
        super().__init__(field, value, reason)
        self.flaw = flaw
        self.expected = expected


class IllegalTransitionError(FoliotError):
    """An attempt cannot go from one state to another."""

    def __init__(self, before: str, after: str) -> None:
        super().__init__(
            f"an attempt that is {before} cannot become {after}", details={"before": before, "after": after}
        )


class CommandRefusedError(FoliotError):
    """A command on a job is impossible now; `reason` says why."""

    def __init__(self, job: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{job}: {reason}", details={"job": job, "reason": reason}, hint=hint)


class WaitTimeoutError(FoliotError, TimeoutError):
    """A run has not ended within the given time. The run goes on."""

    def __init__(self, run: str, timeout: timedelta, state: str) -> None:
        super().__init__(
            f"{shorten(run)} is still {state} after {timeout.total_seconds():g} s",
            details={"run": run, "timeout": timeout, "state": state},
        )


class AppStateError(FoliotError):
    """An application object cannot do that in its present state; the reason says why."""

    def __init__(self, app: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{app}: {reason}", details={"app": app, "reason": reason}, hint=hint)


class InvalidAppError(FoliotError, ValueError):
    """What `--app` names cannot be loaded, or is no application."""

    def __init__(self, name: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"The application {shorten(name)} {reason}", details={"name": name, "reason": reason}, hint=hint
        )


class ConfigProblem(NamedTuple):
    """One error in a config file; line and column count from 1, `field` is a path: `schedule.cron`."""

    file: str
    line: int
    column: int
    job: str | None
    field: str | None
    message: str
    hint: str | None

    def __str__(self) -> str:
        job = "" if self.job is None else f"job {shorten(self.job)}"
        where = ", ".join(filter(None, (job, shorten(self.field or ""))))
        return f"{self.file}:{self.line}:{self.column}: {where + ': ' if where else ''}{self.message}"


class ConfigInvalidError(FoliotError, ValueError):
    """A config file has errors. `problems` has all of them; the message has the first."""

    def __init__(self, problems: list[ConfigProblem]) -> None:
        first, more = problems[0], len(problems) - 1
        counted = f" (and {more} more error{'s' if more > 1 else ''})" if more else ""
        details = {"file": first.file, "problems": [problem._asdict() for problem in problems]}
        super().__init__(f"{first}{counted}", details=details, hint=first.hint)
        self.problems = tuple(problems)


class ConfigNotFoundError(FoliotError):
    """There is no config file where one was looked for."""

    def __init__(self, file: str, *, hint: str | None = None) -> None:
        super().__init__(f"there is no {shorten(file)}", details={"file": file}, hint=hint)


class InvalidStoreError(FoliotError, ValueError):
    """The URL of a store cannot be right."""

    def __init__(self, url: str, reason: str, *, hint: str | None = None) -> None:
        shown = without_password(url)
        super().__init__(
            f"invalid store {shorten(shown)}: {reason}",
            details={"url": _kept(shown), "reason": reason},
            hint=hint,
        )


class InvalidChannelError(FoliotError, ValueError):
    """A channel of alerts cannot be right. The value is shown only if it cannot be a secret."""

    def __init__(self, field: str, value: object, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"invalid {field} {shorten(value)}: {reason}",
            details={"field": field, "value": _kept(value), "reason": reason},
            hint=hint,
        )


class StoreError(FoliotError):
    """A store could not do its work."""


class StoreUnavailableError(StoreError):
    """The store did not answer. Whether the call took effect is unknown."""

    def __init__(self, verb: str, reason: str, *, hint: str | None = None, is_plain: bool = False) -> None:
        """`is_plain`: the reason is a full sentence, so the message leaves the verb out."""
        message = reason if is_plain else f"{verb}: {reason}"
        super().__init__(message, details={"verb": verb, "reason": reason}, hint=hint)


class NodeBuriedError(StoreError):
    """This node was declared dead: it can neither claim nor finish any more."""

    def __init__(self, node: str) -> None:
        super().__init__(
            f"node {node} was declared dead", details={"node": node}, hint="join again as a new node"
        )


class StaleRevisionError(StoreError):
    """A source has another revision than the one that a change is based on."""

    def __init__(self, source: str, base: str | None, found: str | None) -> None:
        super().__init__(
            f"source {source} is at {found}, not at {base}",
            details={"source": source, "base": base, "found": found},
            hint="read the source again, and base the change on its present revision",
        )


class JobNotFoundError(StoreError):
    """There is no job of that name."""

    def __init__(self, job: str, *, hint: str | None = None) -> None:
        super().__init__(f"there is no job {shorten(job)}", details={"job": job}, hint=hint)


class AmbiguousNameError(StoreError):
    """Several jobs have that name."""

    def __init__(self, name: str, keys: list[str]) -> None:
        shown = ", ".join(map(shorten, keys[:_MOST_NAMED]))
        more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
        super().__init__(
            f"{len(keys)} jobs have the name {shorten(name)}: give one of {shown}{more}",
            details={"name": name, "jobs": keys},
        )


class RunNotFoundError(StoreError):
    """There is no run of that key, or no attempt of that number. The history may have forgotten it."""

    def __init__(self, run: str, *, attempt: int | None = None, hint: str | None = None) -> None:
        what = f"run {shorten(run)}" if attempt is None else f"attempt {attempt} of {shorten(run)}"
        super().__init__(f"there is no {what}", details={"run": run, "attempt": attempt}, hint=hint)


class SourceNotFoundError(StoreError):
    """There is no source of that name."""

    def __init__(self, source: str, *, hint: str | None = None) -> None:
        super().__init__(f"there is no source {shorten(source)}", details={"source": source}, hint=hint)


def _rebuild(kind: type[FoliotError], arguments: tuple[Any, ...], facts: dict[str, Any]) -> FoliotError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(facts)
    return error
