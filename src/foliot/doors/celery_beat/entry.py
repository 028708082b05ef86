"""The entries of a Celery application: what its `beat_schedule` says once all of its modules are imported."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from foliot.doors.celery_beat.errors import BeatSettingError, EntryRefusedError

_CLEANUP = "celery.backend_cleanup"


class Entry(NamedTuple):
    """A periodic task as Celery has it. `schedule` is an object of Celery's.

    The rest is known of entries that are imported. `last_run_at`: when it was last sent. `start_at`: it is
    not sent before. `until`: it is not sent after. `is_one_off`: it is sent once.
    """

    name: str
    task: str
    schedule: Any
    args: Any = ()
    kwargs: Any = None
    options: Any = None
    enabled: bool = True
    last_run_at: datetime | None = None
    start_at: datetime | None = None
    until: datetime | None = None
    is_one_off: bool = False


class Found(NamedTuple):
    """What there is to carry over: entries, what cannot even be read, and the names of what is done with."""

    entries: list[Entry]
    refusals: list[EntryRefusedError]
    done: list[str]


def prepare(app: Any) -> None:
    """Import the modules of the tasks, as `celery beat` does; some of them call `add_periodic_task`."""
    app.loader.init_worker()
    app.finalize()


def read_entries(app: Any) -> Found:
    """All entries of an application, in the order of their names."""
    prepare(app)
    declared = app.conf.beat_schedule
    if not isinstance(declared, Mapping):
        raise BeatSettingError("beat_schedule", "must be a mapping of names to entries")
    entries, refusals = list[Entry](), list[EntryRefusedError]()
    for name, fields in {**_usual(app, declared), **declared}.items():
        try:
            entries.append(_read(app, name, fields))
        except EntryRefusedError as error:
            refusals.append(error)
    return Found(sorted(entries, key=attrgetter("name")), refusals, [])


def _usual(app: Any, declared: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry that Celery adds by itself, where results have to be cleaned up."""
    from celery.beat import Scheduler  # noqa: PLC0415 - see the package's docstring

    scheduler = Scheduler(app, schedule={}, lazy=True)
    scheduler.install_default_entries(declared)
    added = scheduler.schedule.get(_CLEANUP)
    return {} if added is None else {_CLEANUP: added}


def _read(app: Any, name: object, fields: Any) -> Entry:
    from celery.beat import ScheduleEntry  # noqa: PLC0415 - see the package's docstring

    if not isinstance(name, str):
        raise EntryRefusedError(name, "its name is no text", hint="give it a text as its name")
    try:
        found = fields
        if not isinstance(fields, ScheduleEntry):
            found = ScheduleEntry(**dict(fields, name=name, app=app))
    except Exception as error:
        reason = f"Celery cannot read it: {type(error).__name__}: {error}"
        hint = "it needs task and schedule, and may have args, kwargs, options and relative"
        raise EntryRefusedError(name, reason, hint=hint) from error
    return Entry(name, found.task, found.schedule, found.args, found.kwargs, found.options)
