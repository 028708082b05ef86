"""A Celery application for tests of the beat door: no broker is asked, unless a test gives one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from celery import Celery

from foliot.doors.celery_beat.errors import EntryRefusedError
from foliot.doors.celery_beat.translate import Translated, translate_all

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def make_app(entries: Mapping[str, Any] | None = None, **conf: Any) -> Any:
    """An application with these entries; Celery adds none of its own."""
    app = Celery("proj", broker="memory://", set_as_current=False)
    app.conf.update(beat_schedule=dict(entries or {}), result_expires=None, **conf)
    return app


def carried(app: Any) -> dict[str, Translated]:
    """What the entries become, by name. None is refused."""
    translated, refusals = translate_all(app, "proj")
    assert refusals == []
    return {one.entry.name: one for one in translated}


def refused(app: Any) -> dict[object, EntryRefusedError]:
    """What is refused, by name."""
    return {one.entry: one for one in translate_all(app, "proj")[1]}


def entry(schedule: Any, task: Any = "proj.tasks.add", **fields: Any) -> dict[str, Any]:
    return {"task": task, "schedule": schedule, **fields}
