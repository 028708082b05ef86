"""Pipelines and schedules: the names that ratd has for actions and jobs.

    pipeline  a named action                        a row of its own (`protocols_access.PipelineStore`)
    schedule  a cron rule for a pipeline            a job of the source `api`, whose name is the schedule's id
    run       of a schedule, or asked for by hand   a run of that job, or of the pipeline's own job

The action of such a job has the kind `pipeline` and names its pipeline; the node reads the pipeline's action
when it runs. The ids of a pipeline's jobs begin with the same bits, so one range of the index finds them all.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from foliot.model.job import Action, Job
from foliot.model.kinds import all_of, serves
from foliot.model.pipeline import Pipeline
from foliot.model.presets import API
from foliot.model.version import API_SOURCE
from foliot.operations.questions import can_start
from foliot.protocols import JobQuery, JobView
from foliot.schedules import Cron, Once, Schedule
from foliot.wiring import FullStore

KIND = "pipeline"
_NEVER = Once(datetime(1970, 1, 1, tzinfo=UTC))
_OWN = b""  # the mark of the job for manual runs
_LOW = 62  # bits of an id that tell the jobs of a pipeline apart
_VERSION = 8  # of UUIDs with a layout of our own
_PAGE = 1000


class PipelineJob(NamedTuple):
    """A job of a pipeline, as its action names it."""

    pipeline: str
    is_schedule: bool


def job_id(pipeline: str, mark: bytes) -> UUID:
    """The id of a job: a UUID of version 8, with 60 bits of the pipeline and then 62 of the mark."""
    high = int.from_bytes(sha256(pipeline.encode()).digest()[:8]) >> 4
    low = int.from_bytes(sha256(mark).digest()[:8]) >> 2 if mark else 0
    return UUID(int=(high >> 12) << 80 | _VERSION << 76 | (high & 0xFFF) << 64 | 2 << _LOW | low)


def own_job(pipeline: Pipeline) -> Job:
    """The job for manual runs of a pipeline. No schedule starts it."""
    return _job(str(job_id(pipeline.id, _OWN)), pipeline, _NEVER)


def schedule_job(name: str, pipeline: Pipeline, rule: Schedule, *, enabled: bool) -> Job:
    """The job of a schedule."""
    return replace(_job(name, pipeline, rule), enabled=enabled)


def with_kind_of(job: Job, pipeline: Pipeline) -> Job:
    """The job with the present action kind of its pipeline."""
    return replace(job, action=_action(pipeline))


def pipeline_of(job: Job) -> PipelineJob | None:
    """The pipeline of a job; None if the job belongs to no pipeline."""
    pipeline = job.action.data.get("pipeline")
    if job.action.kind != KIND or not isinstance(pipeline, str):
        return None
    return PipelineJob(pipeline, job.name != str(job_id(pipeline, _OWN)))


def cron_of(job: Job) -> str:
    """The rule of a schedule, as it was written."""
    return job.schedule.expression if isinstance(job.schedule, Cron) else str(job.schedule)


async def jobs_of(store: FullStore, pipeline: str, *, with_removed: bool = False) -> list[JobView]:
    """All jobs of a pipeline: its schedules, and its own if it has one."""
    prefix = f"{API_SOURCE}/{str(job_id(pipeline, _OWN))[:18]}-"
    query = JobQuery(source=API_SOURCE, with_removed=with_removed, after=prefix, limit=_PAGE)
    found: list[JobView] = []
    while page := await store.jobs(query):
        found += [view for view in page if view.key.startswith(prefix)]
        if not page[-1].key.startswith(prefix):
            break
        query = query._replace(after=page[-1].key)
    return found


def is_schedule(view: JobView) -> bool:
    """Whether a job is a schedule. An unreadable job is recognised by its id."""
    if view.record is not None:
        found = pipeline_of(view.record.job)
        return found is not None and found.is_schedule
    try:
        id_ = UUID(view.key.removeprefix(f"{API_SOURCE}/"))
    except ValueError:
        return False
    return id_.version == _VERSION and id_.int & (1 << _LOW) - 1 != 0


async def has_executor(store: FullStore, pipeline: Pipeline) -> bool:
    """Whether a running node can run a pipeline.

    A node that serves `pipeline:` runs every pipeline. A node that serves `pipeline` also needs an executor
    for the pipeline's action.
    """
    now = await store.now()
    for view in await store.nodes():
        kinds = view.node.kinds
        if can_start(view, "default", KIND, now) and (
            kinds is None or all_of(KIND) in kinds or serves(kinds, pipeline.action.kind)
        ):
            return True
    return False


def _job(name: str, pipeline: Pipeline, rule: Schedule) -> Job:
    return Job(source=API_SOURCE, name=name, schedule=rule, action=_action(pipeline), policy=API)


def _action(pipeline: Pipeline) -> Action:
    # A copy of the kind, for nodes that need it before they read the pipeline.
    return Action(kind=KIND, data={"pipeline": pipeline.id, "kind": pipeline.action.kind})
