"""Jobs of the kind celery in an application, whole: declared, claimed, sent, tried again."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from executors.celery.stage import celery_app, ids, memory_app, taken, until
from foliot import Cron, Foliot, Outcome, Retry
from foliot.errors import InvalidAppError, InvalidJobError, InvalidPolicyError
from foliot.executors.celery import CeleryTasks, celery_task, find_celery_app, task_id
from foliot.model.job import Action
from foliot.observability import Metrics
from foliot.testing.servers import RedisServer, redis_server

LIMIT = 60
NEVER = Cron("0 0 1 1 *")


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server(fsync="off") as server:
        yield server


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), LIMIT))


def foliot(app: Any, store: str = "memory://", *, metrics: Any = None, **settings: Any) -> Foliot:
    return Foliot(store, name="shop", executors={"celery": CeleryTasks(app, **settings)}, metrics=metrics)


def test_a_job_sends_its_task_and_says_which_run_it_is() -> None:
    celery = memory_app()

    async def scene() -> None:
        async with foliot(celery) as app:
            await app.schedule("add", NEVER, celery_task("proj.add", [2], {"x": 3}, headers={"tenant": 7}))
            run = await app.trigger("add", request="first")
            attempt = await app.finished(run)
            assert (attempt.outcome, attempt.error) == (Outcome.SUCCEEDED, None)

    play(scene)
    [message] = taken(celery)
    assert message.payload[:2] == [[2], {"x": 3}]
    headers = message.headers
    assert (headers["task"], headers["id"]) == ("proj.add", task_id("shop.added/add!first"))
    assert (headers["run_key"], headers["schedule_id"]) == ("shop.added/add!first", "add")
    assert (headers["attempt"], headers["tenant"], headers["celery_beat_task"]) == (1, 7, True)
    assert headers["trigger_type"] == "manual"
    assert headers["token"] > 0
    assert headers["scheduled_for"].endswith("Z")
    assert headers["scheduled_at"].endswith("Z")


def test_what_is_given_with_a_trigger_are_arguments_by_name() -> None:
    celery = memory_app()

    async def scene() -> None:
        async with foliot(celery) as app:
            await app.schedule("add", NEVER, celery_task("proj.add", [2], {"x": 3, "y": 4}))
            await app.finished(await app.trigger("add", payload={"x": 5, "z": 6}))

    play(scene)
    assert taken(celery)[0].payload[:2] == [[2], {"x": 5, "y": 4, "z": 6}]


def test_a_herd_is_sent_whole() -> None:
    celery = memory_app()

    async def scene() -> None:
        async with foliot(celery) as app:
            rows = ((f"j{n}", NEVER, celery_task("proj.add", [n]), None) for n in range(300))
            await app.schedule_many(rows)
            runs = [await app.trigger(f"j{n}") for n in range(300)]
            assert {(await app.finished(run)).outcome for run in runs} == {Outcome.SUCCEEDED}

    play(scene)
    assert sorted(message.payload[0][0] for message in taken(celery)) == list(range(300))


def test_an_action_that_cannot_be_sent_is_refused_where_it_is_written() -> None:
    app = foliot(memory_app())
    with pytest.raises(InvalidJobError, match=r"job a: invalid action\.data\.task None: is missing"):
        app.wait(app.schedule("a", NEVER, Action(kind="celery", data={})))
    app.close()


def test_a_task_with_wrong_arguments_is_not_tried_again() -> None:
    celery = memory_app()

    def one(number: int) -> None:
        """Take one."""

    celery.task(one, name="proj.one", shared=False)

    async def scene() -> None:
        async with foliot(celery) as app:
            await app.schedule("one", NEVER, celery_task("proj.one"), retry=Retry(max=5, delay="0s"))
            attempt = await app.finished(await app.trigger("one"))
            assert (attempt.outcome, attempt.number) == (Outcome.FAILED, 1)
            assert attempt.error is not None
            assert attempt.error.startswith("not enqueued: proj.one: TypeError")

    play(scene)
    assert taken(celery) == []


def test_a_program_without_a_celery_application_declares_none_and_claims_none(tmp_path: Path) -> None:
    celery, store = memory_app(), f"sqlite:///{tmp_path}/jobs.db"

    async def scene() -> None:
        sender, other = foliot(celery, store), Foliot(store, name="other")
        with pytest.raises(InvalidJobError, match="has no executor in this program"):
            await other.schedule("add", NEVER, celery_task("proj.add"))
        await sender.schedule("add", NEVER, celery_task("proj.add"))
        await other.schedule("mine", NEVER, other.action(_nothing))
        run = await sender.trigger("add")
        async with other:
            await other.finished(await other.trigger("mine"))
            assert [attempt.state for attempt in await sender.history("add")] == ["pending"]
        async with sender:
            attempt = await sender.finished(run)
            assert (attempt.outcome, attempt.number) == (Outcome.SUCCEEDED, 1)

    play(scene)


async def _nothing() -> None:
    """Do nothing."""


def test_while_the_broker_is_down_nothing_is_lost_and_nothing_is_doubled(server: RedisServer) -> None:
    celery = celery_app(server.url)

    async def scene() -> None:
        metrics = Metrics()
        async with foliot(celery, metrics=metrics) as app:
            retry = Retry(max=None, delay="1s")
            await app.schedule("add", NEVER, celery_task("proj.add"), retry=retry)
            server.stop()
            try:
                run = await app.trigger("add", request="first")
                await until(lambda: b'failures_total{reason="refused"} 2' in metrics.text())
            finally:
                server.start()
            attempt = await app.finished(run)
            assert attempt.outcome is Outcome.SUCCEEDED
            assert attempt.number >= 3
            failed = [a for a in await app.history("add") if a.outcome is Outcome.FAILED]
            assert all(a.error is not None and a.error.startswith("not enqueued") for a in failed)
            assert b"foliot_enqueue_seconds_count" in metrics.text()

    play(scene)
    assert ids(taken(celery)) == [task_id("shop.added/add!first")]


def test_a_broker_that_hangs_ends_an_attempt_as_unknown_and_the_next_has_the_same_id(
    server: RedisServer,
) -> None:
    celery = celery_app(server.url)

    async def scene() -> None:
        async with foliot(celery, timeout="1s") as app:
            await app.schedule("warm", NEVER, celery_task("proj.add"))
            await app.finished(await app.trigger("warm", request="r"))
            await app.schedule("once", NEVER, celery_task("proj.add"), on_lost="give_up")
            await app.schedule("add", NEVER, celery_task("proj.add"), retry=Retry(max=None, delay="1s"))
            server.pause()
            try:
                once, often = await app.trigger("once", request="r"), await app.trigger("add", request="r")
                at_most_once = await app.finished(once)
            finally:
                server.resume()
            assert (at_most_once.outcome, at_most_once.number) == (Outcome.FAILED, 1)
            attempt = await app.finished(often)
            assert attempt.outcome is Outcome.SUCCEEDED
            history = await app.history()
            errors = [a.error for a in history if a.outcome is Outcome.FAILED]
            assert any(str(error).startswith("unknown whether it is enqueued") for error in errors)

    play(scene)
    found = ids(taken(celery))
    warm, once, often = (task_id(f"shop.added/{name}!r") for name in ("warm", "once", "add"))
    assert set(found) - {once} == {warm, often}
    assert found.count(once) <= 1


def test_the_length_of_queues_is_told_on_request(server: RedisServer) -> None:
    celery = celery_app(server.url)
    queue = celery.conf.task_default_queue

    async def scene() -> None:
        metrics = Metrics()
        async with foliot(celery) as app:
            for name in ("a", "b"):
                await app.schedule(name, NEVER, celery_task("proj.add", priority="low" if name == "a" else 0))
                await app.finished(await app.trigger(name))
        async with foliot(celery, metrics=metrics, watch_queues=[queue, "empty"]):
            await until(lambda: f'queue_length{{queue="{queue}"}} 2.0'.encode() in metrics.text())
            assert b'queue_length{queue="empty"} 0.0' in metrics.text()

    play(scene)


@pytest.mark.parametrize(
    ("broker", "options", "lines"),
    [
        ("amqp://localhost", {}, ["broker_unconfirmed"]),
        ("amqp://localhost", {"confirm_publish": True}, []),
        ("memory://", {}, []),
    ],
)
def test_a_broker_that_confirms_nothing_is_told_at_the_start(
    broker: str, options: dict[str, Any], lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    celery = celery_app(broker, broker_transport_options=options)

    async def scene() -> None:
        async with foliot(celery):
            pass

    with caplog.at_level(logging.WARNING, "foliot"):
        play(scene)
    assert [record.getMessage().split()[0] for record in caplog.records] == lines


@pytest.mark.parametrize(
    ("given", "settings", "words"),
    [
        ("proj", {}, "executors.celery"),
        (object, {}, "is no Celery application"),
        (None, {"track": "end"}, "track end: is not known"),
        (None, {"timeout": "soon"}, "timeout"),
        (None, {"timeout": timedelta(0)}, "positive"),
    ],
)
def test_settings_that_cannot_be_are_refused(given: Any, settings: Any, words: str) -> None:
    with pytest.raises(InvalidPolicyError, match=words):
        CeleryTasks(given or memory_app(), **settings)


def test_a_broker_of_no_known_kind_is_refused_at_the_start() -> None:
    celery = celery_app("pigeon://user:secret@loft")

    async def scene() -> None:
        with pytest.raises(InvalidPolicyError, match="has a broker that cannot be used") as caught:
            async with foliot(celery):
                pass
        assert "secret" not in str(caught.value)

    play(scene)


@pytest.mark.parametrize("backend", [None, "rpc://"])
def test_results_can_be_tracked_only_where_all_can_ask_for_them(backend: str | None) -> None:
    celery = celery_app("memory://", backend)

    async def scene() -> None:
        with pytest.raises(InvalidPolicyError, match="result backend"):
            async with foliot(celery, track="result"):
                pass
        async with foliot(celery) as app:
            await app.schedule("a", NEVER, celery_task("proj.add", track="result"))
            attempt = await app.finished(await app.trigger("a"))
            assert attempt.outcome is Outcome.FAILED
            assert "result backend" in str(attempt.error)

    play(scene)
    assert taken(celery) == []


def test_an_application_is_found_by_the_name_that_celery_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"shop_{tmp_path.name.replace('-', '_')}"
    program = "from celery import Celery\napp = Celery('found', broker='memory://')\n"
    (tmp_path / f"{module}.py").write_text(program)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert find_celery_app(module).main == "found"
    assert find_celery_app(f"{module}:app").main == "found"
    for name in ("nowhere.at_all", "json:loads"):
        with pytest.raises(InvalidAppError, match=f"{name} cannot be loaded"):
            find_celery_app(name)
