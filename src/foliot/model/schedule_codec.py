"""Schedules as JSON: by `cron` (with `timezone`, `dialect`, `dst`), `every` (`timezone`), `once` or `never`.

On some days only: see `calendar_codec`.

A schedule with a field that is not known here is refused, unlike a policy: a rule that is not
understood in full would fire at the wrong times. Equal texts give the same object, so that a herd of
jobs shares its rules. A time zone is always a name: "local" was resolved when the job was declared, and
would mean something else where it is read. `dst` is left out where it is `exact`, as every rule once was; a
rule in the dialect `vixie` has it always, so that a program older than both passes over the job.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from foliot.errors import FoliotError, InvalidTimezoneError
from foliot.model.calendar_codec import read_on_days, write_on_days
from foliot.model.damage import Flaw
from foliot.model.json_text import MisfitError
from foliot.model.shape import DURATION, INSTANT, TEXT, Kind
from foliot.schedules import Cron, Every, Never, Once, OnDays, Schedule
from foliot.schedules.never import NEVER, REBOOT

Rule = TypeVar("Rule", Cron, Every)


def _read_schedule(data: Any) -> Schedule:
    if type(data) is not dict:
        raise MisfitError.of_type(data, "an object")
    if "rule" in data:
        return read_on_days(data, _read_schedule)
    kind = next((name for name in _KINDS if name in data), None)
    if kind is None:
        reason = f"must have one of the fields {', '.join(_KINDS)}"
        raise MisfitError(data, reason, flaw=Flaw.UNKNOWN_HERE if data else Flaw.VALUE)  # a newer kind
    names, build = _KINDS[kind]
    for name in data:
        if name not in names:
            reason = "is a field of schedules that this version does not know"
            raise MisfitError(data[name], reason, name, flaw=Flaw.UNKNOWN_HERE)
    texts = [_text(data, name) for name in names if name != "dst" or name in data]
    try:
        return build(*texts)
    except InvalidTimezoneError as error:  # the time zones of this host may be old
        raise MisfitError(data["timezone"], error.message, "timezone", flaw=Flaw.UNKNOWN_HERE) from error
    except FoliotError as error:
        name = error.details.get("argument")
        if name in ("dialect", "dst"):  # a newer program may have more of them
            raise MisfitError(data.get(name), error.message, name, flaw=Flaw.UNKNOWN_HERE) from error
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
def _cron(expression: str, timezone: str, dialect: Any, dst: Any = "exact") -> Cron:
    rule = Cron.stored(expression, timezone, dialect, dst)
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


def _never(word: str) -> Never:
    if word not in (NEVER, REBOOT):
        raise MisfitError(word, f"must be {NEVER} or {REBOOT}", flaw=Flaw.UNKNOWN_HERE)
    return Never(at_boot=word == REBOOT)


def _write_schedule(schedule: Any) -> dict[str, Any]:
    match schedule:
        case Cron():
            zone, dialect, dst = schedule.timezone, schedule.dialect, schedule.dst
            written = {"cron": schedule.expression, "timezone": zone, "dialect": dialect}
            return written if dst == "exact" and dialect != "vixie" else {**written, "dst": dst}
        case Every():
            return {"every": DURATION.write(schedule.duration), "timezone": schedule.timezone}
        case Once():
            return {"once": INSTANT.write(schedule.at)}
        case Never():
            return {"never": str(schedule)}
        case OnDays():
            return write_on_days(schedule, _write_schedule)
    raise MisfitError(schedule, "must be a Cron, an Every, a Once or a Never")


# By the field that tells it: the fields of each kind of schedule, all of them texts, and what they make.
_KINDS: dict[str, tuple[tuple[str, ...], Callable[..., Schedule]]] = {
    "cron": (("cron", "timezone", "dialect", "dst"), _cron),
    "every": (("every", "timezone"), _every),
    "once": (("once",), _once),
    "never": (("never",), _never),
}
SCHEDULE = Kind(_read_schedule, _write_schedule)
