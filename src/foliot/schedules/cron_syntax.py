"""The cron language: from text to sets of numbers.

Five dialects share one grammar and differ in what they allow:

    standard   minute hour day month weekday; `* , - /`, names, `?`, macros, `CRON_TZ=`, 7 = Sunday
    seconds    the same, with an optional seconds field in front; and `L`, `5L`, `1#2` for days (`nth_day`)
    posix      the declarative scheduler's strict grammar: numbers, `*`, lists and ranges only
    celery     Celery's crontab: ranges may wrap (`22-2`, `fri-mon`), and both day fields must match
    vixie      as cron reads a crontab: no `?`, no `5/15`, `fri-sun`; and if a day field begins with `*`, even
               with `*/2`, both must match

A field becomes a bit mask: bit n is set if n is in the field. The text is looked at once, from left
to right, its length is bounded, and nothing in it is ever formatted, evaluated or compiled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import Literal, get_args

from foliot.errors import (
    FieldParseError,
    InvalidCronExpressionError,
    InvalidDurationError,
    InvalidScheduleError,
    InvalidTimezoneError,
    shorten,
)
from foliot.schedules.cron_hint import (
    hint_for_backward_range,
    hint_for_count,
    hint_for_every,
    hint_for_macro,
    hint_for_steps,
    hint_for_value,
    hint_for_word,
    is_long_name,
)
from foliot.schedules.duration import parse_duration
from foliot.schedules.every import whole_seconds
from foliot.schedules.field import FIELDS, Field
from foliot.schedules.nth_day import read_counted
from foliot.schedules.zone import resolve_timezone

Dialect = Literal["standard", "seconds", "posix", "celery", "vixie"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
LONGEST_EXPRESSION = 1024
_WORD = re.compile(r"[^ \t]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_STARS = ("*", "?")
_DIGITS = frozenset("0123456789")
_NO_QUARTZ = "Quartz's L, W and # are not part of this language; ? stands alone, for *"
_ZONE_PREFIXES = ("CRON_TZ=", "TZ=")
_PLAIN = {"posix": "POSIX", "celery": "Celery's crontab"}  # dialects of five fields and nothing else
_REFUSALS = {"celery": " by Celery's crontab", "vixie": " by Vixie's cron"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CronFields:
    """What a cron expression means: which numbers each field allows.

    `either_day`: both day fields are restricted, so a day matches if either of them does.
    """

    seconds: int
    minutes: int
    hours: int
    days: int
    months: int
    weekdays: int
    either_day: bool
    has_seconds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ParsedCron:
    """A parsed expression: fields, or the step of an `@every` grid; and its own zone, if it names one.

    `follows_the_clock`: its minute or hour begins with `*`; see `around`.
    The same text gives the same object, so it is compared by identity, which is quick.
    """

    expression: str
    fields: CronFields | None = None
    every: timedelta | None = None
    timezone: str | None = None
    follows_the_clock: bool = False


def parse_cron(expression: str, dialect: Dialect) -> ParsedCron:
    """Read an expression in a dialect, or say exactly what is wrong with it."""
    if dialect not in DIALECTS:
        raise InvalidScheduleError(
            "dialect", dialect, "there is no such dialect", hint="choose one of " + ", ".join(DIALECTS)
        )
    if not isinstance(expression, str):
        raise InvalidCronExpressionError(expression, "expression", "must be a string")
    if len(expression) > LONGEST_EXPRESSION:
        raise InvalidCronExpressionError(
            expression,
            "expression",
            f"is longer than {LONGEST_EXPRESSION} characters",
            position=LONGEST_EXPRESSION,
            hint="no schedule needs as much",
        )
    return _read(expression, dialect)


@lru_cache(maxsize=8192)
def _read(expression: str, dialect: Dialect) -> ParsedCron:
    return _Reader(expression, dialect).read()


class _Reader:
    """One reading of one expression; knows the text, so that every error can point into it."""

    def __init__(self, expression: str, dialect: Dialect) -> None:
        self.expression = expression
        self.is_posix = dialect == "posix"
        self.is_celery = dialect == "celery"
        self.plain_name = _PLAIN.get(dialect, "")
        self.is_vixie = dialect == "vixie"
        self.refusal = " (POSIX violation)" if self.is_posix else _REFUSALS.get(dialect, "")
        self.has_optional_seconds = dialect == "seconds"

    def read(self) -> ParsedCron:
        if control := _CONTROL.search(self.expression):
            reason = f"has a control character {control.group()!a} in it"
            hint = "remove the line break" if control.group() in "\r\n" else "remove it"
            raise self.error("expression", reason, control.start(), hint=hint)
        words = _split(self.expression)
        if not words:
            raise self.error("expression", "cannot be empty", 0, hint="write five fields, such as 0 9 * * *")
        timezone = None
        if not self.plain_name and words[0][1].startswith(_ZONE_PREFIXES):
            timezone = self.read_timezone(*words.pop(0))
            if not words:
                raise self.error("expression", "cannot be empty", len(self.expression))
        if words[0][1].startswith("@"):
            return self.read_macro(words, timezone)
        *_, minute, hour, _, _, _ = (*("",) * len(FIELDS), *(word for _, word in words))
        return ParsedCron(
            expression=self.expression,
            fields=self.read_fields(words),
            timezone=timezone,
            follows_the_clock=minute[:1] in _STARS or hour[:1] in _STARS,
        )

    def read_timezone(self, position: int, word: str) -> str:
        prefix, _, name = word.partition("=")
        try:
            # "local" is resolved by each rule that is built, not once for all that share this text.
            return name if name == "local" else resolve_timezone(name)
        except InvalidTimezoneError as error:
            raise self.error(
                "timezone",
                f'"{shorten(name)}" is not an IANA time zone',
                position + len(prefix) + 1,
                hint=error.hint,
            ) from error

    def read_macro(self, words: list[tuple[int, str]], timezone: str | None) -> ParsedCron:
        position, name = words[0]
        if self.plain_name:
            reason = f"macro syntax not supported{self.refusal}"
            raise self.error(
                "expression", reason, position, hint=hint_for_macro(name, MACROS, self.plain_name)
            )
        if name == "@every":
            return ParsedCron(expression=self.expression, every=self.read_every(words), timezone=timezone)
        if name not in MACROS:
            reason = f"has an unknown macro {shorten(name)}"
            raise self.error("expression", reason, position, hint=hint_for_macro(name, MACROS))
        if len(words) > 1:
            hint = "a macro stands alone"
            raise self.error("expression", f"has more text after {name}", words[1][0], hint=hint)
        return replace(parse_cron(MACROS[name], "standard"), expression=self.expression, timezone=timezone)

    def read_every(self, words: list[tuple[int, str]]) -> timedelta:
        end = words[0][0] + len("@every")
        if len(words) != 2:  # noqa: PLR2004 - the macro and its duration
            position = words[2][0] if len(words) > 1 else end
            hint = hint_for_every([word for _, word in words[1:]])
            raise self.error("expression", "needs one duration after @every", position, hint=hint)
        position, text = words[1]
        try:
            return whole_seconds(parse_duration(text), text)
        except InvalidDurationError as error:
            raise self.error("expression", f"@every {error.reason}", position, hint=error.hint) from error

    def read_fields(self, words: list[tuple[int, str]]) -> CronFields:
        expected = (5, 6) if self.has_optional_seconds else (5,)
        if len(words) not in expected:
            counts = " or ".join(map(str, expected))
            surplus = words[expected[-1] :]
            raise self.error(
                "expression",
                f"must have exactly {counts} fields, got {len(words)}",
                surplus[0][0] if surplus else len(self.expression),
                hint=hint_for_count(
                    [word for _, word in words],
                    self.plain_name,
                    has_optional_seconds=self.has_optional_seconds,
                ),
            )
        has_seconds = len(words) > len(FIELDS) - 1
        masks: dict[str, int] = {"second": 1}
        stars = set()
        for field, (position, text) in zip(FIELDS[-len(words) :], words, strict=True):
            try:
                masks[field.name], is_star = self.read_field(field, text)
            except FieldParseError as error:
                raise self.error(
                    field.name, error.reason, position + error.offset, hint=error.hint
                ) from error
            if is_star:
                stars.add(field.name)
        return CronFields(
            seconds=masks["second"],
            minutes=masks["minute"],
            hours=masks["hour"],
            days=masks["day"],
            months=masks["month"],
            weekdays=masks["weekday"],
            either_day=not self.is_celery and not stars & {"day", "weekday"},
            has_seconds=has_seconds,
        )

    def read_field(self, field: Field, text: str) -> tuple[int, bool]:
        """The mask of a field, and whether it counts as unrestricted for the day rule."""
        if self.is_posix:
            _refuse_non_posix(field, text)
            if text == "*":
                return field.full, True
        mask, is_star, offset = 0, False, 0
        for item in text.split(","):
            item_mask, item_is_star = self.read_item(field, text, item, offset)
            mask |= item_mask
            is_star |= item_is_star
            offset += len(item) + 1
        if self.is_vixie:
            return mask, text[0] == "*"
        return (field.full if is_star else mask), is_star

    def read_item(self, field: Field, text: str, item: str, offset: int) -> tuple[int, bool]:
        """One item of a list: `*`, `5`, `1-5`, each with a `/step` or without."""
        if not item:
            reason, hint = "has an empty item in its list", "write values between the commas"
            raise FieldParseError(field.name, text, reason, offset=offset, hint=hint)
        if self.has_optional_seconds and (counted := read_counted(field, text, item, offset)) is not None:
            return counted, False
        body, slash, step_text = item.partition("/")
        if not body:
            raise FieldParseError(field.name, text, "has a step without a range", offset=offset)
        step_offset = offset + len(body) + 1
        step = _read_step(field, text, step_text, step_offset) if slash else 1
        if body == "*" or (body == "?" and not self.refusal):
            return _mask(field, field.low, field.high, step), step == 1
        start_text, dash, end_text = body.partition("-")
        if dash and not (_can_bound_a_range(start_text) and _can_bound_a_range(end_text)):
            bad = offset + (len(start_text) + 1 if start_text else 0)
            reason, hint = f'invalid range format "{shorten(item)}"', "a range is two values: 1-5"
            raise FieldParseError(field.name, text, reason, offset=bad, hint=hint)
        end_offset = offset + len(start_text) + 1
        start = self.read_number(field, text, start_text, offset, body=body)
        if dash:
            end = self.read_number(field, text, end_text, end_offset, body=body, range_start=start)
            if self.is_vixie and end_text.upper() == "SUN":
                end = field.high + 1  # the Sunday that ends the week
        elif slash and (self.is_celery or self.is_vixie):
            hint = f"write {start}-{max(start, field.high)}/{step}"
            reason = f"a step after a single value is not supported{self.refusal}"
            raise FieldParseError(field.name, text, reason, offset=step_offset - 1, hint=hint)
        else:
            # `5/15` means from 5 to the end of the field; 7 (Sunday) lies beyond that end.
            end = max(start, field.high) if slash else start
        if start > end and not self.is_celery:
            reason = "wrap-around ranges not supported" + " (POSIX violation)" * self.is_posix
            hint = hint_for_backward_range(field, start, end, step)
            raise FieldParseError(field.name, text, reason, offset=end_offset, hint=hint)
        return _mask(field, start, end, step), False

    def read_number(  # noqa: PLR0913 - where it stands, for errors that point and help
        self, field: Field, text: str, word: str, offset: int, *, body: str, range_start: int | None = None
    ) -> int:
        if not _DIGITS.issuperset(word):
            known = word[:3] if self.is_celery and is_long_name(word) else word
            if not self.is_posix and (value := field.named(known)) is not None:
                return value
            raise _not_a_number(field, text, word, body, offset, refusal=self.refusal)
        value = int(word)
        if not field.low <= value <= field.high + (field.name == "weekday" and not self.plain_name):
            reason = f"value {shorten(word)} out of range ({field.low}-{field.high})"
            if field.name == "weekday" and value == 7:  # noqa: PLR2004 - the other Sunday
                reason += ": Sunday must be 0, not 7 (POSIX compliance)" if self.is_posix else ": Sunday is 0"
            raise FieldParseError(
                field.name, text, reason, offset=offset, hint=hint_for_value(field, value, range_start)
            )
        return value

    def error(
        self, field: str, reason: str, position: int, *, hint: str | None = None
    ) -> InvalidCronExpressionError:
        return InvalidCronExpressionError(self.expression, field, reason, position=position, hint=hint)


def _split(text: str) -> list[tuple[int, str]]:
    """The words between blanks, each with its position."""
    return [(word.start(), word.group()) for word in _WORD.finditer(text)]


def _can_bound_a_range(text: str) -> bool:
    """Whether one side of a range can be read as a number or a name at all."""
    return bool(text) and "-" not in text and (text[0] not in _DIGITS or _DIGITS.issuperset(text))


def _mask(field: Field, start: int, end: int, step: int) -> int:
    """Every step-th value from start to end, across the end of the field if end comes first."""
    size = field.high - field.low + 1
    mask = 0
    for value in range(start, end + 1 if start <= end else end + size + 1, step):
        # Weekday 7 is Sunday, too.
        mask |= 1 << (value - size if value > field.high else value)
    return mask


def _read_step(field: Field, text: str, word: str, offset: int) -> int:
    if not word or not _DIGITS.issuperset(word):
        reason = f'invalid step "{shorten(word)}"'
        raise FieldParseError(field.name, text, reason, offset=offset, hint="a step is a whole number: */5")
    step = int(word)
    if step == 0:
        raise FieldParseError(
            field.name, text, "step must not be 0", offset=offset, hint="steps start at 1: */1, or just *"
        )
    return step


def _refuse_non_posix(field: Field, text: str) -> None:
    """What other dialects have and POSIX has not, each by its own name."""
    if "/" in text:
        raise FieldParseError(
            field.name,
            text,
            "slash syntax not supported (POSIX violation)",
            offset=text.index("/"),
            hint=hint_for_steps(field, text),
        )
    if "*" in text and text != "*":
        raise FieldParseError(
            field.name,
            text,
            "wildcard combined with other values not supported (POSIX violation)",
            offset=text.index("*"),
            hint="write * alone, or only numbers",
        )


def _not_a_number(  # noqa: PLR0913 - where it stands, for errors that point and help
    field: Field, text: str, word: str, body: str, offset: int, *, refusal: str
) -> FieldParseError:
    bad = next(i for i, character in enumerate(word) if character not in _DIGITS)
    stem = word.rstrip("LW")
    is_posix = refusal.startswith(" (")
    quartz_hint = "Quartz's ?, L, W and # are not part of this language" if refusal else _NO_QUARTZ
    for token in "?#":
        if token in word:
            reason = f"Quartz token '{token}' not supported{refusal}"
            return FieldParseError(
                field.name, text, reason, offset=offset + word.index(token), hint=quartz_hint
            )
    if stem != word and (_DIGITS.issuperset(stem) or field.named(stem) is not None):
        reason = f"Quartz token '{word[len(stem)]}' not supported{refusal}"
        return FieldParseError(field.name, text, reason, offset=offset + len(stem), hint=quartz_hint)
    hint = hint_for_word(field, word, body, is_posix=is_posix)
    mantissa, exponent, digits = word.lower().partition("e")
    whole, point, fraction = word.partition(".")
    if point and _DIGITS.issuperset(whole + fraction):
        reason = "decimal numbers not supported"
    elif word[0] in "+-" or (mantissa and exponent and _DIGITS.issuperset(mantissa + digits)):
        reason = f'invalid number format "{shorten(word)}"'
    elif is_posix:
        reason = "names not supported, use numbers only (POSIX violation)"
    else:
        reason = f'has an unknown name or number "{shorten(word)}"'
    return FieldParseError(field.name, text, reason, offset=offset + bad, hint=hint)
