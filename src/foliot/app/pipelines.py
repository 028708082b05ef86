"""Runs pipelines. A pipeline is looked up when it runs, so that a change takes effect at once.

run of a job of the kind `pipeline` ──▶ the pipeline ──▶ the program's function, if it has one for pipelines
                                        gone: it fails    else the executor of the pipeline's action
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

from foliot.app.part import Workplace
from foliot.errors import InvalidPolicyError, StoreError, StoreUnavailableError
from foliot.executors.python import Function, JobRun, PythonExecutor
from foliot.executors.task import TaskExecutor
from foliot.model.attempt import Outcome
from foliot.model.job import Job
from foliot.model.kinds import ByKind, all_of, serves
from foliot.model.pipeline import Pipeline, PipelineStatus
from foliot.operations.pipelines import KIND
from foliot.protocols import Clock, Executor, Result, Run
from foliot.wiring import FullStore

RunPipeline = Callable[[Pipeline, JobRun], Awaitable[None]]
_PAUSE = timedelta(seconds=1)  # before a call that failed is repeated


def check_run_pipeline(given: object) -> None:
    """Raise an error if this cannot run pipelines."""
    if given is not None and not callable(given):
        hint = "async def execute(pipeline, run): …"
        raise InvalidPolicyError("pipelines", given, "must be a function", hint=hint)


class Chosen(NamedTuple):
    """The executor of a pipeline, and the run for it."""

    executor: Executor
    run: Run


class PipelineExecutor(TaskExecutor):
    """Looks a pipeline up and runs it. `choose` returns the executor; None if this node has none."""

    def __init__(
        self, store: FullStore, clock: Clock, choose: Callable[[Run, Pipeline], Chosen | None]
    ) -> None:
        super().__init__()
        self._store, self._clock, self._choose = store, clock, choose

    async def execute(self, run: Run) -> Result:
        """Run the pipeline of a run. If it is gone, the run fails, and its schedule stays."""
        name = str(run.data.get("pipeline"))
        pipeline = await self._look_up(name)
        if pipeline is None or pipeline.status is PipelineStatus.REMOVED:
            return Result(Outcome.FAILED, f"the pipeline {name} is gone", is_final=True)
        chosen = self._choose(run, pipeline)
        if chosen is None:
            reason = f"no executor here for {pipeline.action.kind}, the action of the pipeline"
            return Result(Outcome.FAILED, f"{reason} {pipeline.full_name}")
        with suppress(StoreError):  # not essential: its runs show it, too
            await self._store.note_pipeline_run(pipeline.id, run.key[0])
        return await _carry_out(chosen)

    async def _look_up(self, pipeline: str) -> Pipeline | None:
        while True:
            try:
                return await self._store.pipeline(pipeline)
            except StoreUnavailableError:  # the run waits for the store, as its report would
                await self._clock.wait(_PAUSE)


async def _carry_out(chosen: Chosen) -> Result:
    ended: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    def note(_: Run, result: Result) -> None:
        if not ended.done():  # only the first end of a run counts
            ended.set_result(result)

    ask_to_end = chosen.executor.start(chosen.run, note)
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        ask_to_end()
        return await ended  # it ends when all that it started has ended


class _ByAction(PipelineExecutor):
    """Runs pipelines by the executors of their actions, and leaves other kinds to other nodes."""

    def __init__(self, store: FullStore, clock: Clock, executors: ByKind[Executor]) -> None:
        super().__init__(store, clock, self._by_action)
        self._executors = executors

    def _by_action(self, run: Run, pipeline: Pipeline) -> Chosen | None:
        executor = self._executors.find(pipeline.action.kind)
        if executor is None or executor is self:
            return None
        return Chosen(executor, Run(replace(run.job, action=pipeline.action), run.attempt))

    def fits(self, job: Job) -> bool:
        """Whether this node has an executor for the pipeline's action at the time of the declaration."""
        return serves(self._executors.keys(), str(job.action.data.get("kind")))

    def on_passed_over(self, jobs: object) -> None:
        """Other nodes have them."""


class _FunctionRun(Run):
    """A run for the program's function: its argument is the pipeline."""

    __slots__ = ("_pipeline",)

    def __init__(self, run: Run, pipeline: Pipeline) -> None:
        super().__init__(run.job, run.attempt)
        self._pipeline = pipeline

    @property
    def data(self) -> Mapping[str, Any]:
        return {"pipeline": self._pipeline}


class PipelinesPart:
    """The part for pipelines. A node with a function for them serves `pipeline:`."""

    def __init__(
        self,
        executors: ByKind[Executor],
        jobs_loop: asyncio.AbstractEventLoop,
        function: RunPipeline | None = None,
    ) -> None:
        self._executors, self._jobs_loop, self._function = executors, jobs_loop, function

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """The executor."""
        if self._function is None:
            return {KIND: _ByAction(host.store, host.clock, self._executors)}
        functions = {KIND: _as_function(self._function)}
        python = PythonExecutor(functions, jobs_loop=self._jobs_loop, follow_log=host.follow_log)

        def choose(run: Run, pipeline: Pipeline) -> Chosen:
            return Chosen(python, _FunctionRun(run, pipeline))

        return {all_of(KIND): PipelineExecutor(host.store, host.clock, choose)}

    async def live(self) -> None:
        """It has nothing to do by itself."""

    async def close(self) -> None:
        """It has nothing to let go of."""

    def title(self, job: str) -> None:
        """Jobs are called by their names."""


def _as_function(function: RunPipeline) -> Function:
    """The program's function as the executor of functions calls them: the run comes first."""

    def call(run: JobRun, pipeline: Pipeline) -> Awaitable[None]:
        return function(pipeline, run)

    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose call is a coroutine
    )
    return Function(call, is_async=is_async, takes_run=True, signature=inspect.signature(call))
