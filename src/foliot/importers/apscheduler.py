"""Jobs of APScheduler 3, from a JSON of their triggers' columns, as jobs here. Nothing is ever unpickled.

APScheduler's own `export_jobs()` writes pickles into its JSON, and to read a pickle is to run what it says.
So a program of the user writes the columns (docs/how-to/from-crontab.md has it):

    {"apscheduler": 3, "jobs": [{"id": "report", "func": "shop.jobs:report", "args": [], "kwargs": {},
      "misfire_grace_time": 60, "max_instances": 1, "paused": false,
      "trigger": {"type": "cron", "timezone": "Europe/Berlin", "fields": {"hour": "2", "minute": "30"}}}]}

Each job is accounted for as one line: a job, or not translated.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from foliot.errors import FoliotError
from foliot.importers.apscheduler_rule import translate_cron, translate_interval
from foliot.importers.draft import Draft, Line, LineKind, Note, Original, Source, When
from foliot.importers.refusal import refusal_of
from foliot.importers.refused import RefusedError
from foliot.importers.registry import Registry

_PICKLE = "__apscheduler_pickle__"
_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_FUNCTION = re.compile(rf"({_NAME}):({_NAME})", re.ASCII)
_BY_HAND = "write the job by hand"
_DOCS = "export the columns as docs/how-to/from-crontab.md shows"
_LONGEST_SHOWN = 200


def read_export(name: str, data: bytes, zone: str, python: str, names: Registry) -> Source:
    """The jobs of a file. FoliotError if it is no export of columns."""
    if _PICKLE.encode() in data:
        message = f"{name} is of export_jobs(): its triggers are pickles, and reading one runs what it says"
        raise FoliotError(message, hint=_DOCS)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FoliotError(f"{name} is no JSON: {str(error)[:200]}", hint=_DOCS) from error
    jobs = found.get("jobs") if isinstance(found, dict) and found.get("apscheduler") == 3 else None  # noqa: PLR2004 - its version
    if not isinstance(jobs, list):
        raise FoliotError(f'{name} does not begin with {{"apscheduler": 3, "jobs": [', hint=_DOCS)
    reader = _Reader(name, zone, python, names)
    lines = tuple(reader.take(number, job) for number, job in enumerate(jobs, start=1))
    off = ("# in the program: scheduler.remove_job(ID), or scheduler.shutdown()",) if reader.drafts else ()
    return Source(name=name, lines=lines, drafts=tuple(reader.drafts), switch_off=off)


class _Reader:
    def __init__(self, name: str, zone: str, python: str, names: Registry) -> None:
        self._name, self._zone, self._python, self._names = name, zone, python, names
        self.drafts: list[Draft] = []

    def take(self, number: int, job: Any) -> Line:
        """What a job is."""
        text = json.dumps(job, ensure_ascii=False)[:_LONGEST_SHOWN]
        try:
            self.drafts.append(self._draft(number, job))
        except RefusedError as error:
            return Line(number, text, LineKind.UNTRANSLATED, error.code, error.reason, error.to_do)
        return Line(number, text, LineKind.JOB)

    def _draft(self, number: int, job: Any) -> Draft:
        trigger = job.get("trigger") if isinstance(job, dict) else None
        if not isinstance(trigger, dict) or not isinstance(job.get("id"), str):
            raise RefusedError("unreadable", "it has no id, or no trigger", _DOCS)
        _refuse_endless(job)
        when, original, notes = self._rule(trigger)
        if original and (jitter := _jitter(trigger)):
            original = original._replace(window=jitter)
        fields = {"run": self._command(job), **_policy(job)}
        if jitter := _jitter(trigger):
            fields["splay"] = f"{jitter}s"
        text = (
            "it ran inside your program; now each run is a process of its own, which imports "
            f"{job['func'].partition(':')[0]} anew: {self._python} must have your packages, and what is kept "
            "in memory is not shared"
        )
        if reason := refusal_of(when, fields, {}):
            raise RefusedError("refused-here", reason, _BY_HAND)
        return Draft(
            id=self._names.id_named(job["id"]), source=self._name, place=f"job {number}", when=when,
            written=_written(trigger), fields=fields, original=original,
            notes=(Note("process", text, needs_person=True), *notes),
        )  # fmt: skip

    def _rule(self, trigger: dict[str, Any]) -> tuple[When, Original | None, tuple[Note, ...]]:
        zone = trigger.get("timezone") or self._zone
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError, TypeError) as error:
            raise RefusedError("zone", f"{str(zone)[:40]} is no time zone", "name an IANA zone") from error
        kind = trigger.get("type")
        if kind == "date":
            reason = f"it runs once, at {str(trigger.get('run_date'))[:40]}, and a rule here has no year"
            raise RefusedError("once", reason, "give it to a program: app.schedule(…) with a time")
        if trigger.get("end_date"):
            reason = f"it ends at {str(trigger['end_date'])[:40]}, and a rule here has no end"
            raise RefusedError("end", reason, "write the job by hand, and remove it then")
        if (start := _instant(trigger.get("start_date"), zone)) is None and kind == "interval":
            raise RefusedError("unreadable", "an interval needs its start_date", _DOCS)
        if kind == "interval":
            return translate_interval(trigger.get("seconds"), start, zone)
        if kind == "cron":
            return *translate_cron(trigger.get("fields"), zone), _later(start)
        reason = f"the trigger {str(kind)[:40]!r} is not translated"
        raise RefusedError("trigger", reason, _BY_HAND)

    def _command(self, job: dict[str, Any]) -> list[str]:
        found = _FUNCTION.fullmatch(str(job.get("func")))
        args, kwargs = job.get("args") or [], job.get("kwargs") or {}
        if found is None or not isinstance(args, list) or not isinstance(kwargs, dict):
            raise RefusedError("func", "its function is no module:name with plain arguments", _BY_HAND)
        given = [*map(repr, args), *([f"**{kwargs!r}"] if kwargs else [])]
        program = f"import importlib; importlib.import_module({found[1]!r}).{found[2]}({', '.join(given)})"
        return [self._python, "-c", program]


def _refuse_endless(job: dict[str, Any]) -> None:
    """RefusedError for NaN and Infinity, anywhere: no rule has them, and a program cannot spell them.

    Python writes and reads them in JSON, and reads 1e999 as Infinity, too.
    """
    left: list[Any] = [job]
    while left:
        value = left.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise RefusedError("number", f"it has {value}, which is no number of JSON", _BY_HAND)
        left += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _written(trigger: dict[str, Any]) -> str:
    """A trigger in short."""
    if trigger["type"] == "interval":
        return f"interval {trigger['seconds']} s"
    return "cron " + " ".join(f"{name}={text}" for name, text in trigger["fields"].items() if text != "*")


def _policy(job: dict[str, Any]) -> dict[str, Any]:
    """How late it may start, how many at once, and whether it is paused."""
    grace, most = job.get("misfire_grace_time", 1), job.get("max_instances", 1)
    late = isinstance(grace, int) and not isinstance(grace, bool) and grace > 0
    return {
        "misfire": {"mode": "skip", "grace": f"{grace}s"} if late else "once",
        "concurrency": "parallel" if isinstance(most, int) and most > 1 else "skip",
        **({"enabled": False} if job.get("paused") is True else {}),
    }


def _jitter(trigger: dict[str, Any]) -> int:
    """Up to how many seconds later it runs, at random."""
    jitter = trigger.get("jitter")
    return round(jitter) if isinstance(jitter, int | float) and jitter >= 1 else 0


def _instant(text: Any, zone: str) -> datetime | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(str(text))
        return (at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)
    except (ValueError, OverflowError) as error:  # the first and last days of the calendar have no UTC
        raise RefusedError("unreadable", f"{str(text)[:40]} is no time", "write ISO 8601") from error


def _later(start: datetime | None) -> tuple[Note, ...]:
    if start is None:
        return ()
    text = f"it does not run before {start:%Y-%m-%d %H:%M} UTC; this runs from the day on which it is served"
    return (Note("start", text, needs_person=True),)
