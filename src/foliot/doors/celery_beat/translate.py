"""From entries to jobs: what Celery would do is said in Foliot's words, or refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from foliot.doors.celery_beat.entry import Entry, read_entries
from foliot.doors.celery_beat.errors import BeatSettingError, EntryRefusedError
from foliot.doors.celery_beat.rule import rule_of
from foliot.errors import InvalidJobError, shorten
from foliot.model.job import Action, Job
from foliot.model.policy import Misfire, MisfireMode, Policy
from foliot.model.presets import CELERY
from foliot.schedules import Cron, Every, Once, Schedule
from foliot.wiring import check_action

KIND = "celery"
_NOT_JSON = "write it as a number, a text, a list or an object, and let the task read it"


class Translated(NamedTuple):
    """An entry, and the job that it becomes."""

    entry: Entry
    job: Job

    @property
    def note(self) -> str:
        """What is other than with Celery, and is no fault."""
        if not isinstance(self.job.schedule, Every) or self.entry.schedule.relative:
            return ""
        interval = str(self.job.schedule).removeprefix("@every ")
        return f"runs at each multiple of {interval} since 1970-01-01 UTC; Celery counts from its last run"


def translate_all(app: Any, source: str) -> tuple[list[Translated], list[EntryRefusedError]]:
    """What the entries of an application become, and all that is refused."""
    found = read_entries(app)
    translated, refused = translate(found.entries, app, source)
    return translated, [*found.refusals, *refused]


def translate(
    entries: Iterable[Entry], app: Any, source: str
) -> tuple[list[Translated], list[EntryRefusedError]]:
    """The jobs of entries, and the entries that are refused."""
    policies = _Policies(app)
    done, refusals = list[Translated](), list[EntryRefusedError]()
    for entry in entries:
        try:
            done.append(Translated(entry, _job(entry, app, source, policies)))
        except EntryRefusedError as error:
            refusals.append(error)
    return done, refusals


class _Policies:
    """How jobs behave: as Celery's entries do, and late ones as the configuration says."""

    def __init__(self, app: Any) -> None:
        deadline = app.conf.beat_cron_starting_deadline
        self._of_crontabs = CELERY
        if deadline is None:
            return
        if isinstance(deadline, bool) or not isinstance(deadline, int | float) or deadline < 0:
            reason = f"is {shorten(deadline)}, and must be a number of seconds"
            raise BeatSettingError("beat_cron_starting_deadline", reason)
        skip = Misfire(mode=MisfireMode.SKIP, grace=timedelta(seconds=deadline))
        self._of_crontabs = replace(CELERY, misfire=skip)

    def of(self, schedule: Schedule) -> Policy:
        """Only crontabs have a deadline; intervals do not."""
        return self._of_crontabs if isinstance(schedule, Cron) else CELERY


def _job(entry: Entry, app: Any, source: str, policies: _Policies) -> Job:
    rule = rule_of(entry.name, entry.schedule, app)
    if entry.is_one_off and not isinstance(rule, Once):
        rule = _once(entry, rule)
    data = {
        "task": _task(entry),
        "args": _list(entry),
        "kwargs": _object(entry, "kwargs", entry.kwargs),
        "options": _object(entry, "options", _option_values(entry.options)),
    }
    action = Action(kind=KIND, data=data)
    try:
        check_action(action)
        return Job(
            source=source,
            name=entry.name,
            schedule=rule,
            action=action,
            policy=policies.of(rule),
            enabled=entry.enabled,
            repeat_until=entry.until,
        )
    except InvalidJobError as error:
        raise EntryRefusedError(entry.name, error.message, hint=error.hint) from error


def _once(entry: Entry, rule: Schedule) -> Once:
    """The only time of an entry that is sent once."""
    begins = max(filter(None, (entry.last_run_at, entry.start_at)), default=None)
    at = None if begins is None else rule.next_after(begins - timedelta(microseconds=1))
    if at is None:
        raise EntryRefusedError(entry.name, "it is sent once, and it is not known from when on")
    return Once(at)


def _task(entry: Entry) -> str:
    task: object = entry.task
    if isinstance(task, str) and task:
        return task
    hint = 'such as "proj.tasks.add"'
    raise EntryRefusedError(entry.name, f"its task {shorten(task)} is no name of a task", hint=hint)


def _list(entry: Entry) -> list[Any]:
    args: object = () if entry.args is None else entry.args
    if not isinstance(args, list | tuple):
        hint = "write a list; a single argument is (5,)"
        raise EntryRefusedError(entry.name, f"args is {_kind(args)}, and must be a list", hint=hint)
    return [_as_json(entry, f"args[{place}]", value) for place, value in enumerate(args)]


def _object(entry: Entry, where: str, given: object) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise EntryRefusedError(entry.name, f"{where} is {_kind(given)}, and must be a mapping")
    for key in given:
        if not isinstance(key, str):
            raise EntryRefusedError(entry.name, f"{where} has the key {shorten(key)}, which is no text")
    return {key: _as_json(entry, f"{where}[{key!r}]", value) for key, value in given.items()}


def _option_values(options: object) -> object:
    """Options with instants as Celery writes them into a message."""
    if not isinstance(options, Mapping):
        return options
    return {key: _option(value) for key, value in options.items()}


def _option(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.total_seconds() if isinstance(value, timedelta) else value


def _as_json(entry: Entry, where: str, value: object) -> Any:
    """A value as it comes out of JSON; a value that does not come out the same is refused."""
    if type(value).__name__ == "BeatLazyFunc":
        hint = "let the task itself find out what it is to work with"
        raise EntryRefusedError(entry.name, f"{where} is a BeatLazyFunc, which is no data", hint=hint)
    try:
        text = json.dumps(value, allow_nan=False)
        back = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        hint = "write it as a text: isoformat()" if isinstance(value, date) else _NOT_JSON
        raise EntryRefusedError(
            entry.name, f"{where} is {_kind(value)}, which is no JSON", hint=hint
        ) from None
    if back != _listed(value):
        hint = "keys of an object are texts"
        raise EntryRefusedError(entry.name, f"{where} is not the same after JSON", hint=hint)
    return back


def _listed(value: object) -> object:
    """JSON has no tuples."""
    if isinstance(value, list | tuple):
        return [_listed(one) for one in value]
    return {key: _listed(one) for key, one in value.items()} if isinstance(value, dict) else value


def _kind(value: object) -> str:
    return f"of the type {type(value).__name__}"
