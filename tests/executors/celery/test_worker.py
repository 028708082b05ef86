"""A real worker, a process of its own, on a real Redis."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
import redis
from celery import Celery

from executors.celery.stage import close_backend, until, worker
from foliot import Cron, Foliot, Outcome
from foliot.doors.beat.celery_queue import CeleryQueue
from foliot.doors.beat.queue import Job
from foliot.executors.celery import CeleryTasks, celery_task
from foliot.testing.servers import RedisServer, redis_server

pytestmark = [
    pytest.mark.prove,
    pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning"),
]
LIMIT = 120
NEVER = Cron("0 0 1 1 *")


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with redis_server(fsync="off") as server:
        yield server


@pytest.fixture
def noted(server: RedisServer) -> Iterator[Callable[[], list[str]]]:
    """What the tasks have written down."""
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        yield lambda: client.lrange("noted", 0, -1)


@pytest.fixture
def celery(server: RedisServer) -> Iterator[Any]:
    app = Celery("shop", broker=server.url, backend=server.url, set_as_current=False)
    app.conf.task_track_started = True
    yield app
    close_backend(app)


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), LIMIT))


@pytest.mark.req("BAN-17")
def test_a_worker_runs_jobs_by_name_with_their_payload_the_highest_priority_first(
    server: RedisServer, celery: Any, noted: Callable[[], list[str]]
) -> None:
    queue = CeleryQueue(celery)
    words = ["low", "normal", "high"] * 3

    async def scene() -> None:
        for number, word in enumerate(words):
            metadata = {"schedule_id": f"s-{word}", "run_key": f"run-{number}"}
            payload = json.dumps({"number": number}).encode()
            await queue.enqueue(Job(f"id-{number}", "shop.note", payload, word, metadata))
        with worker(server.url):
            await until(lambda: len(noted()) == len(words))

    play(scene)
    calls = [json.loads(text) for text in noted()]
    order = [kwargs["number"] for _, kwargs, _ in calls]
    assert order == [2, 5, 8, 1, 4, 7, 0, 3, 6]
    for args, kwargs, headers in calls:
        assert args == []
        assert headers["schedule_id"] == f"s-{words[kwargs['number']]}"


def test_a_run_ends_with_its_task_and_a_task_that_fails_says_why(server: RedisServer, celery: Any) -> None:
    async def scene() -> None:
        tasks = CeleryTasks(celery, track="result")
        async with Foliot("memory://", executors={"celery": tasks}) as app:
            await app.schedule("note", NEVER, celery_task("shop.note", [1]))
            await app.schedule("fail", NEVER, celery_task("shop.fail"))
            runs = [await app.trigger("note"), await app.trigger("fail")]
            with worker(server.url):
                note, fail = [await app.finished(run) for run in runs]
            assert note.outcome is Outcome.SUCCEEDED
            assert (fail.outcome, fail.error) == (Outcome.FAILED, "ValueError: sold out")
            assert "shop_tasks.py" in await app.log(fail)

    play(scene)


def test_a_timeout_ends_the_task_in_its_worker(
    server: RedisServer, celery: Any, noted: Callable[[], list[str]]
) -> None:
    async def scene() -> None:
        tasks = CeleryTasks(celery, track="result", timeout="10s")
        async with Foliot("memory://", executors={"celery": tasks}) as app:
            await app.schedule("wait", NEVER, celery_task("shop.wait"), timeout="10s")
            with worker(server.url, "--pool=prefork"):
                attempt = await app.finished(await app.trigger("wait"))
                assert noted() == ["begun"]
                assert attempt.outcome is Outcome.TIMED_OUT
                await app.schedule("note", NEVER, celery_task("shop.note"))
                # The worker has one place: it is free again, though nobody has let the task go on.
                assert (await app.finished(await app.trigger("note"))).outcome is Outcome.SUCCEEDED
            assert noted()[0] == "begun"
            assert "ended" not in noted()

    play(scene)


def test_a_task_that_is_marked_runs_once_though_its_message_comes_twice(
    server: RedisServer, celery: Any, noted: Callable[[], list[str]]
) -> None:
    queue = CeleryQueue(celery)

    async def scene() -> None:
        for payload in (b"[1]", b"[1]", b"[2]"):
            run = payload.decode()
            await queue.enqueue(Job(run, "shop.charge", payload, "normal", {"run_key": run}))
        with worker(server.url):
            await until(lambda: len(noted()) == 2)

    play(scene)
    assert noted() == ["charged 1", "charged 2"]


def test_a_node_that_is_killed_leaves_the_task_and_the_next_finds_it(
    server: RedisServer, celery: Any, noted: Callable[[], list[str]], tmp_path: Any
) -> None:
    store = f"sqlite:///{tmp_path}/jobs.db"

    def app() -> Foliot:
        return Foliot(store, lease="1s", executors={"celery": CeleryTasks(celery, track="result")})

    async def first() -> None:
        async with app() as one:
            await one.schedule("wait", NEVER, celery_task("shop.wait"))
            await one.trigger("wait", request="r")
            await until(lambda: noted() == ["begun"])
            os.kill(os.getpid(), signal.SIGKILL)

    async def second() -> None:
        async with app() as other:
            while not any(a.number == 2 and a.is_running for a in await other.history("wait")):
                await until(lambda: True)
            with redis.Redis.from_url(server.url) as client:
                client.rpush("go", "on")
            attempt = await other.finished("app.added/wait!r")
            assert (attempt.outcome, attempt.number) == (Outcome.SUCCEEDED, 2)

    with worker(server.url):
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(first())
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        play(second)
    assert noted() == ["begun", "ended"], "it ran once"
