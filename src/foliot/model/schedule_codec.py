"""Schedules as JSON: `{"cron", "timezone", "dialect"}`, `{"every", "timezone"}` or `{"once"}`.

A schedule with a field that is not known here is refused, unlike a policy: a rule that is not
understood in full would fire at the wrong times. Equal texts give the same object, so that a herd of
jobs shares its rules. A time zone is always a name: "local" was resolved when the job was declared, and
would mean something else where it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from foliot.errors import FoliotError, InvalidTimezoneError
from foliot.model.damage import Flaw
from foliot.model.json_text import MisfitError
from foliot.model.shape import DURATION, INSTANT, TEXT, Kind
from foliot.schedules import Cron, Every, Once, Schedule

Rule = TypeVar("Rule", Cron, Every)


def _read_schedule(data: Any) -> Schedule:
    if type(data) is not dict:
        raise MisfitError.of_type(data, "an object")
    kind = next((name for name in _KINDS if name in data), None)
    if kind is None:
        raise MisfitError(data, f"must have one of the fields {', '.join(_KINDS)}")
    names, build = _KINDS[kind]
    for name in data:
        if name not in names:
            reason = "is a field of schedules that this version does not know"
            raise MisfitError(data[name], reason, name, flaw=Flaw.UNKNOWN_HERE)
    texts = [_text(data, name) for name in names]
    try:
        return build(*texts)
    except InvalidTimezoneError as error:  # the time zones of this host may be old
        raise MisfitError(data["timezone"], error.message, "timezone", flaw=Flaw.UNKNOWN_HERE) from error
    except FoliotError as error:
        raise MisfitError(data[kind], error.message, kind) from error
    except MisfitError as error:
        raise (error if error.path else error.within(kind)) from error.__cause__


def _text(data: dict[str, Any], name: str) -> str:
    if name not in data:
        raise MisfitError.missing(name)
    try:
        text: str = TEXT.read(data[name])
    except MisfitError as error:
        raise error.within(name) from None
    return text


@lru_cache(maxsize=8192)
def _cron(expression: str, timezone: str, dialect: Any) -> Cron:
    rule = Cron(expression, timezone=timezone, dialect=dialect)
    if rule.expression != expression:
        raise MisfitError(expression, "names the time zone of a host, not a time zone")
    return _in_zone(rule, timezone)


@lru_cache(maxsize=1024)
def _every(duration: str, timezone: str) -> Every:
    return _in_zone(Every(DURATION.read(duration), timezone=timezone), timezone)


def _in_zone(rule: Rule, timezone: str) -> Rule:
    if rule.timezone != timezone:
        raise MisfitError(timezone, f"is not the time zone of the rule, {rule.timezone}", "timezone")
    return rule


def _once(instant: str) -> Once:
    return Once(INSTANT.read(instant))


def _write_schedule(schedule: Any) -> dict[str, Any]:
    match schedule:
        case Cron():
            zone, dialect = schedule.timezone, schedule.dialect
            return {"cron": schedule.expression, "timezone": zone, "dialect": dialect}
        case Every():
            return {"every": DURATION.write(schedule.duration), "timezone": schedule.timezone}
        case Once():
            return {"once": INSTANT.write(schedule.at)}
    raise MisfitError(schedule, "must be a Cron, an Every or a Once")


# By the field that tells it: the fields of each kind of schedule, all of them texts, and what they make.
_KINDS: dict[str, tuple[tuple[str, ...], Callable[..., Schedule]]] = {
    "cron": (("cron", "timezone", "dialect"), _cron),
    "every": (("every", "timezone"), _every),
    "once": (("once",), _once),
}
SCHEDULE = Kind(_read_schedule, _write_schedule)
