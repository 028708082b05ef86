"""The application behind a beat: jobs of a Celery application's entries, and the engine that sends them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from foliot.app import Foliot
from foliot.doors.celery_beat.errors import EntriesRefusedError
from foliot.doors.celery_beat.setting import BeatSettings
from foliot.doors.celery_beat.translate import KIND, translate_all
from foliot.executors.celery import CeleryTasks
from foliot.model.job import Job
from foliot.observability.log import tell


class BeatApp(Foliot):
    """Jobs that are declared as data, for an engine that sends them to Celery's workers."""

    def __init__(self, celery: Any, jobs: Iterable[Job], settings: BeatSettings, **others: Any) -> None:
        executors = {KIND: CeleryTasks(celery)}
        super().__init__(settings.store, name=settings.namespace, executors=executors, **others)
        for job in jobs:
            self._registry.add_job(job)


def make_beat(celery: Any, settings: BeatSettings, **others: Any) -> BeatApp:
    """The beat of a Celery application. EntriesRefusedError, unless refused entries are to be skipped."""
    translated, refusals = translate_all(celery, settings.namespace)
    if refusals and not settings.skips_refused:
        raise EntriesRefusedError(refusals)
    for refusal in refusals:
        tell("entry_refused", entry=str(refusal.entry), reason=refusal.reason, hint=refusal.hint)
    return BeatApp(celery, (one.job for one in translated), settings, **others)
