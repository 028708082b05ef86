"""Facts about a run beside its attempts: the rule that started it, and its pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from foliot.model.attempt import Attempt, Trigger
from foliot.model.job import Job
from foliot.model.version import Version
from foliot.operations.pipelines import cron_of, pipeline_of
from foliot.operations.questions import EVERYTHING
from foliot.protocols import JobQuery, RunQuery
from foliot.wiring import FullStore

_AGAIN = (Trigger.RETRY, Trigger.LOST)
_ASKED = (Trigger.MANUAL, Trigger.BACKFILL, Trigger.AFTER, Trigger.REBOOT)


class RunWords(NamedTuple):
    """`trigger` is `manual`, `backfill`, or `schedule:` and the rule of that time."""

    trigger: str
    pipeline: str | None = None


async def words_of(store: FullStore, attempts: Sequence[Attempt]) -> list[RunWords]:
    """The facts of runs, each given by one of its attempts."""
    keys = frozenset(attempt.job for attempt in attempts)
    views = await store.jobs(JobQuery(keys=keys, with_removed=True, limit=max(len(keys), 1)))
    records = {view.key: view.record for view in views}
    versions: dict[str, Sequence[Version]] = {}
    told = []
    for attempt in attempts:
        record = records.get(attempt.job)
        job = None if record is None else record.job
        if record is not None and attempt.version not in (0, record.state.version):
            if attempt.job not in versions:
                versions[attempt.job] = await store.versions(attempt.job)
            job = _of_version(versions[attempt.job], attempt.version) or record.job
        told.append(await _words(store, attempt, job))
    return told


def _of_version(versions: Sequence[Version], number: int) -> Job | None:
    return next((version.job for version in versions if version.number == number), None)


async def _words(store: FullStore, attempt: Attempt, job: Job | None) -> RunWords:
    trigger = await _origin(store, attempt)
    pipeline = None if job is None else pipeline_of(job)
    text = trigger.value
    if trigger not in _ASKED:
        text = Trigger.SCHEDULE.value if job is None else f"{Trigger.SCHEDULE.value}:{cron_of(job)}"
    return RunWords(text, pipeline and pipeline.pipeline)


async def _origin(store: FullStore, attempt: Attempt) -> Trigger:
    """The trigger of the run. A retry has the trigger of the first attempt that is kept."""
    if attempt.request is not None and attempt.trigger not in (*_AGAIN, *_ASKED):
        return Trigger.MANUAL
    if attempt.trigger not in _AGAIN:
        return attempt.trigger
    all_of_run = await store.runs(RunQuery(job=attempt.job, run_key=attempt.run_key, limit=EVERYTHING))
    first = min(all_of_run, key=lambda one: one.number, default=attempt)
    usual = Trigger.SCHEDULE if attempt.request is None else Trigger.MANUAL
    return usual if first.trigger in _AGAIN else first.trigger
