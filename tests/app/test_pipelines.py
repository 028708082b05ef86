"""Pipelines in any application: carried out by the executor of their action, looked up when they run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scene import NEVER, play
from foliot import Foliot, Outcome
from foliot.clock import SystemClock
from foliot.errors import InvalidPolicyError
from foliot.executors.python import JobRun
from foliot.model.attempt import Attempt
from foliot.model.job import Action, Job
from foliot.model.version import API_SOURCE
from foliot.operations import Operations
from foliot.operations.pipelines import has_executor, is_schedule, job_id, jobs_of, own_job, schedule_job
from foliot.protocols import Changes, JobView
from foliot.protocols_access import Pipeline
from foliot.schedules import Cron
from web_server import reply, web_server

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def sales(kind: str, **data: Any) -> Pipeline:
    return Pipeline(str(uuid4()), "shop", "gold", "sales", Action(kind=kind, data=data), NOW, NOW)


class Desk:
    """What an API does beside an application whose store is in memory."""

    def __init__(self, ops: Operations) -> None:
        self.ops = ops

    @classmethod
    async def of(cls, app: Foliot) -> Desk:
        return cls(Operations(await app.shared_store(), SystemClock(), tell=app.handle_events))

    async def declare(self, *jobs: Job) -> None:
        await self.ops.define(API_SOURCE, Changes(declared=jobs), check=lambda *_: None)

    async def run(self, pipeline: Pipeline) -> Attempt:
        await self.declare(own_job(pipeline))
        effect = await self.ops.trigger(own_job(pipeline).key)
        return await self.ops.finished(effect.run)


def test_a_pipeline_does_what_its_action_says_when_it_runs() -> None:
    told: list[Any] = []

    async def scene() -> None:
        app = Foliot("memory://", http_allow=["localhost"])

        @app.action
        async def load(run: JobRun, table: str) -> None:
            told.append((run.key, table))
            run.log("loaded", table)

        async with app:
            desk, pipeline = await Desk.of(app), sales("python:load", table="orders")
            await desk.ops.store.add_pipeline(pipeline)
            attempt = await desk.run(pipeline)
            assert (attempt.outcome, told) == (Outcome.SUCCEEDED, [(attempt.run_key, "orders")])
            assert await desk.ops.log(attempt) == "loaded orders\n"
            kept = await desk.ops.store.pipeline(pipeline.id)
            assert kept is not None
            assert kept.last_run == attempt.run_key

            call = Action(kind="http", data={"url": server.url})
            await desk.ops.store.change_pipeline(pipeline._replace(action=call))
            attempt = await desk.run(pipeline)
            assert await desk.ops.log(attempt) == "HTTP 200 OK\n\nfine\n"
            assert server.asked[0].headers["idempotency-key"] == attempt.run_key

            await desk.ops.store.remove_pipeline(pipeline.id, NOW)
            attempt = await desk.run(pipeline)
            assert (attempt.outcome, attempt.error) == (Outcome.FAILED, f"the pipeline {pipeline.id} is gone")

    with web_server(reply(200, b"fine")) as server:
        play(scene)


def test_a_node_leaves_pipelines_to_others_that_it_has_no_executor_for() -> None:
    async def scene() -> None:
        app = Foliot("memory://")
        async with app:
            desk, pipeline, known = await Desk.of(app), sales("sql"), sales("http")
            store = desk.ops.store
            await store.add_pipeline(pipeline)
            assert not await has_executor(store, pipeline)
            assert await has_executor(store, known)
            await desk.declare(own_job(pipeline))
            waiting = await desk.ops.trigger(own_job(pipeline).key)
            await store.change_pipeline(pipeline._replace(action=known.action))
            # A run of another pipeline comes and goes, and this one waits.
            other = sales("http", url="ftp://nowhere")._replace(name="other")
            await store.add_pipeline(other)
            assert (await desk.run(other)).outcome is Outcome.FAILED
            last = await desk.ops.last(own_job(pipeline).key, waiting.run)
            assert last is not None
            assert last.is_open
            assert not last.is_running

    play(scene)


def test_a_function_of_the_program_runs_whatever_a_pipeline_is() -> None:
    ran: list[str] = []

    def execute(pipeline: Pipeline, run: JobRun) -> None:  # a plain function will do, too
        ran.append(pipeline.action.kind)
        run.log("in a thread")

    async def scene() -> None:
        async with Foliot("memory://", pipelines=execute) as app:
            desk, pipeline = await Desk.of(app), sales("sql")
            await desk.ops.store.add_pipeline(pipeline)
            assert await has_executor(desk.ops.store, pipeline)
            attempt = await desk.run(pipeline)
            assert (attempt.outcome, ran) == (Outcome.SUCCEEDED, ["sql"])
            assert await desk.ops.log(attempt) == "in a thread\n"

    play(scene)


def test_what_cannot_run_pipelines_is_refused() -> None:
    with pytest.raises(InvalidPolicyError, match="must be a function"):
        Foliot("memory://", pipelines=7)
    with pytest.raises(InvalidPolicyError, match="that of pipelines"):
        Foliot("memory://", executors={"pipeline": lambda _: None})


@given(st.uuids().map(str), st.binary(min_size=1, max_size=20))
def test_ids_of_jobs_are_uuids_that_begin_as_their_pipeline_says(pipeline: str, mark: bytes) -> None:
    made, own = job_id(pipeline, mark), job_id(pipeline, b"")

    assert UUID(str(made)) == made
    assert (made.version, made.variant) == (8, "specified in RFC 4122")
    assert str(made)[:18] == str(own)[:18]
    assert made != own
    assert is_schedule(JobView(f"{API_SOURCE}/{made}", None))
    assert not is_schedule(JobView(f"{API_SOURCE}/{own}", None))


def test_jobs_of_a_pipeline_are_found_among_others() -> None:
    async def scene() -> None:
        app = Foliot("memory://")
        desk = await Desk.of(app)
        many = [sales("http") for _ in range(20)]
        wanted = many[7]
        for pipeline in many:
            names = [str(job_id(pipeline.id, bytes((n,)))) for n in (1, 2, 3)]
            jobs = [schedule_job(name, pipeline, Cron("@daily"), enabled=True) for name in names]
            await desk.declare(own_job(pipeline), *jobs)
        await desk.declare(Job(source=API_SOURCE, name="mail", schedule=NEVER, action=Action(kind="http")))
        found = await jobs_of(desk.ops.store, wanted.id)
        assert len(found) == 4
        assert [is_schedule(view) for view in found].count(True) == 3
        assert await jobs_of(desk.ops.store, str(uuid4())) == []
        app.close()

    play(scene)
