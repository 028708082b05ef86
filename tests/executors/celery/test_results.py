"""Runs that end when their task ends: a real broker and backend; the test plays the worker."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine, Iterator
from datetime import timedelta
from typing import Any

import pytest

from executors.celery.stage import celery_app, close_backend, ids, taken, until
from foliot import Cron, Foliot, Outcome, Retry
from foliot.clock import SystemClock
from foliot.executors.celery import CeleryTasks, celery_task, results, task_id
from foliot.executors.celery.results import TaskState
from foliot.model.query import SkipQuery
from foliot.testing.servers import RedisServer, redis_server

# Celery 5.7 calls what redis-py 8 would rather not have called.
pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning")
LIMIT = 90
NEVER = Cron("0 0 1 1 *")
RUN = "shop.added/add!r"
ADD = celery_task("proj.add", track="result")


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server(fsync="off") as server:
        yield server


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_PAUSE", timedelta(milliseconds=50))


@pytest.fixture
def celery(server: RedisServer) -> Iterator[Any]:
    app = celery_app(server.url, server.url)
    yield app
    close_backend(app)
    server.ask("FLUSHALL")


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), LIMIT))


def foliot(celery: Any, store: str = "memory://", **settings: Any) -> Foliot:
    return Foliot(
        store, name="shop", executors={"celery": CeleryTasks(celery, timeout="1s")}, drain="1s", **settings
    )


async def sent(celery: Any) -> str:
    """Wait for the next task to be sent, take it as a worker does, and tell its id."""
    return ids(await until(lambda: taken(celery)))[0]


def end(celery: Any, task: str, state: str = "SUCCESS", result: object = None) -> None:
    celery.backend.store_result(task, result, state, traceback="where it was" if state == "FAILURE" else None)


def test_a_run_ends_when_its_task_has_ended(celery: Any) -> None:
    async def scene() -> None:
        async with foliot(celery) as app:
            await app.schedule("add", NEVER, ADD)
            run = await app.trigger("add", request="r")
            task = await sent(celery)
            assert task == task_id(RUN)
            end(celery, task, "STARTED")
            [attempt] = await app.history("add")
            assert attempt.is_open
            end(celery, task)
            assert (await app.finished(run)).outcome is Outcome.SUCCEEDED

    play(scene)


def test_the_message_asks_for_a_result_whatever_the_task_says(celery: Any) -> None:
    async def scene() -> None:
        async with foliot(celery) as app:
            await app.schedule("add", NEVER, celery_task("proj.add", track="result", ignore_result=True))
            run = await app.trigger("add", request="r")
            [message] = await until(lambda: taken(celery))
            assert message.headers["ignore_result"] is False
            end(celery, message.headers["id"])
            await app.finished(run)

    play(scene)


def test_a_task_that_fails_fails_its_attempt_and_a_retry_sends_it_again_under_its_id(celery: Any) -> None:
    async def scene() -> None:
        async with foliot(celery) as app:
            await app.schedule("add", NEVER, ADD, retry=Retry(max=1, delay="1s"))
            run = await app.trigger("add", request="r")
            end(celery, await sent(celery), "FAILURE", ValueError("sold out"))
            again = await sent(celery)
            assert again == task_id(RUN)
            end(celery, again)
            attempt = await app.finished(run)
            assert (attempt.outcome, attempt.number) == (Outcome.SUCCEEDED, 2)
            first = next(a for a in await app.history("add") if a.number == 1)
            assert (first.outcome, first.error) == (Outcome.FAILED, "ValueError: sold out")
            assert await app.log(first) == "where it was"

    play(scene)


@pytest.mark.prove
def test_an_occurrence_that_comes_while_the_task_runs_is_skipped(celery: Any) -> None:
    async def scene() -> None:
        async with foliot(celery) as app:
            await app.schedule("add", "@every 1s", ADD, overlap="skip")
            first = await sent(celery)
            [attempt] = await app.history("add")
            late = attempt.scheduled_for + timedelta(seconds=2)
            await until(lambda: SystemClock().now() > late)
            assert len(await app.history("add")) == 1
            assert taken(celery) == []
            end(celery, first)
            second = await sent(celery)
            [skip] = await (await app.shared_store()).skips(SkipQuery())
            assert skip.code == "overlap"
            end(celery, second)

    play(scene)


@pytest.mark.parametrize("asks", [pytest.param("timeout", marks=pytest.mark.prove), "cancel"])
def test_a_run_that_is_to_end_revokes_its_task_and_a_later_attempt_gets_another_id(
    celery: Any, asks: str
) -> None:
    async def scene() -> None:
        async with foliot(celery) as app:
            timeout = "2s" if asks == "timeout" else None
            await app.schedule("add", NEVER, ADD, timeout=timeout, retry=Retry(max=1, delay="0s"))
            run = await app.trigger("add", request="r")
            first = await sent(celery)
            if asks == "cancel":
                await app.cancel(run)
                assert (await app.finished(run)).outcome is Outcome.CANCELLED
                assert celery.backend.get_state(first) == "REVOKED"
                return
            second = await sent(celery)
            assert celery.backend.get_state(first) == "REVOKED"
            assert second == task_id(f"{RUN}#2")
            end(celery, second)
            attempt = await app.finished(run)
            assert (attempt.outcome, attempt.number) == (Outcome.SUCCEEDED, 2)

    play(scene)


def test_a_task_that_another_has_revoked_ends_its_run(celery: Any) -> None:
    async def scene() -> None:
        async with foliot(celery) as app:
            await app.schedule("add", NEVER, ADD, retry=Retry(max=3, delay="0s"))
            run = await app.trigger("add", request="r")
            celery.backend.mark_as_revoked(await sent(celery), "terminated")
            attempt = await app.finished(run)
            assert (attempt.outcome, attempt.number) == (Outcome.CANCELLED, 1)
            assert attempt.error == "the task was revoked: TaskRevokedError: terminated"

    play(scene)


def test_a_task_that_has_expired_has_failed() -> None:
    result = TaskState("REVOKED", "TaskRevokedError: expired").result
    assert result.outcome is Outcome.FAILED


@pytest.mark.parametrize("state", ["STARTED", "SUCCESS", "FAILURE", ""])
def test_after_a_restart_of_the_node_the_task_is_found_again(celery: Any, tmp_path: Any, state: str) -> None:
    store = f"sqlite:///{tmp_path}/jobs.db"

    async def scene() -> None:
        async with foliot(celery, store) as app:
            await app.schedule("add", NEVER, ADD)
            run = await app.trigger("add", request="r")
            task = await sent(celery)
        # The node has stopped; its task has not been revoked.
        if state:
            end(celery, task, state, ValueError("no") if state == "FAILURE" else None)
        assert celery.backend.get_state(task) == (state or "PENDING")
        async with foliot(celery, store) as app:
            if not state:
                assert await sent(celery) == task
            if state in ("STARTED", ""):
                end(celery, task)
            attempt = await app.finished(run)
            assert attempt.number == 2
            assert attempt.outcome is (Outcome.FAILED if state == "FAILURE" else Outcome.SUCCEEDED)
        assert taken(celery) == []

    play(scene)


def test_a_retry_takes_the_success_of_a_message_that_nobody_knew_to_have_arrived(
    server: RedisServer, celery: Any
) -> None:
    async def scene() -> None:
        async with foliot(celery) as app:
            await app.schedule("warm", NEVER, celery_task("proj.add"))
            await app.finished(await app.trigger("warm"))
            await app.schedule("add", NEVER, ADD, retry=Retry(max=None, delay="1s"))
            server.pause()
            try:
                run = await app.trigger("add", request="r")
                while not [a for a in await app.history("add") if a.outcome is Outcome.FAILED]:
                    await until(lambda: True)
            finally:
                server.resume()
            end(celery, task_id(RUN))
            assert (await app.finished(run)).outcome is Outcome.SUCCEEDED

    play(scene)


def test_all_tasks_are_one_question_a_second(
    server: RedisServer, celery: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()

    async def scene() -> None:
        async with foliot(celery) as app:
            rows = ((f"j{n}", NEVER, ADD, None) for n in range(60))
            await app.schedule_many(rows)
            runs = [await app.trigger(f"j{n}", request="r") for n in range(60)]
            tasks = {task_id(run) for run in runs}
            found: set[str] = set()
            while found != tasks:
                found |= set(ids(await until(lambda: taken(celery))))
            server.ask("CONFIG", "RESETSTAT")
            for task in tasks:
                end(celery, task)
            for run in runs:
                assert (await app.finished(run)).outcome is Outcome.SUCCEEDED
            calls = re.search(rb"cmdstat_mget:calls=(\d+)", server.ask("INFO", "commandstats"))
            assert calls is not None
            assert int(calls[1]) < 20, "not one for each of sixty tasks"

    play(scene)


def test_a_backend_that_is_away_is_told_once_and_the_run_stays_open(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    with redis_server(fsync="always") as backend:
        celery = celery_app(server.url, backend.url)

        async def scene() -> None:
            async with foliot(celery) as app:
                await app.schedule("add", NEVER, ADD)
                run = await app.trigger("add", request="r")
                task = await sent(celery)
                backend.stop()
                await until(lambda: "results_trouble" in caplog.text)
                [attempt] = await app.history("add")
                assert attempt.is_open
                backend.start()
                end(celery, task)
                assert (await app.finished(run)).outcome is Outcome.SUCCEEDED

        play(scene)
    lines = [record.getMessage().split()[0] for record in caplog.records]
    assert [line for line in lines if line.startswith("results")] == ["results_trouble", "results_recovered"]


def test_a_node_that_does_not_see_starts_warns(server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    celery = celery_app(server.url, server.url)
    celery.conf.task_track_started = False

    async def scene() -> None:
        tasks = CeleryTasks(celery, track="result")
        async with Foliot("memory://", executors={"celery": tasks}):
            pass

    with caplog.at_level(logging.WARNING, "foliot"):
        play(scene)
    assert [record.getMessage().split()[0] for record in caplog.records] == ["task_start_not_reported"]
