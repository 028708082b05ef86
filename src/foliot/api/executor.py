"""Whether a node is there for what is asked for: a run that no node can start would wait for ever."""

from __future__ import annotations

from foliot.api.call import Call
from foliot.api.problem import ProblemError
from foliot.model.pipeline import Pipeline
from foliot.operations import readable
from foliot.operations.pipelines import has_executor, pipeline_of
from foliot.protocols import JobView

_RETRY_AFTER = {"Retry-After": "30"}


async def require_executor(call: Call, view: JobView) -> None:
    """503 if no node that lives can start a run of a job."""
    job = readable(view).job
    named = pipeline_of(job)
    pipeline = None if named is None else await call.service.store.pipeline(named.pipeline)
    if pipeline is not None:
        await require_executor_of_pipeline(call, pipeline)
    elif not await call.ops.servants(job):
        detail = f"no node that lives serves the queue {job.queue} and runs {job.action.kind}"
        hint = "start one, such as foliot serve, or foliot serve --app M:A for functions of a program"
        raise ProblemError(503, "NO_EXECUTOR", detail, hint=hint, headers=_RETRY_AFTER)


async def require_executor_of_pipeline(call: Call, pipeline: Pipeline) -> None:
    """503 if no node that lives can run a pipeline."""
    if not await has_executor(call.service.store, pipeline):
        detail = f"no node that lives can run {pipeline.full_name}"
        hint = "start one: Ratd(…, executor=…), or foliot serve for actions that it knows"
        raise ProblemError(503, "NO_EXECUTOR", detail, hint=hint, headers=_RETRY_AFTER)
