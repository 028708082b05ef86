"""What a worker gets of a letter."""

from __future__ import annotations

from typing import Any

import pytest

from executors.celery.stage import letter, memory_app
from foliot.executors.celery.message import Message, make_message, priorities_of, task_id

NUMBERS = {"high": 0, "normal": 3, "low": 9}


def take_one(number: int) -> None:
    """Take one argument."""


def take_none() -> None:
    """Take no argument."""


def made(app: Any, **options: Any) -> Message:
    return make_message(app, letter(**options), NUMBERS)


def test_the_task_of_a_run_has_the_same_id_in_each_process_and_release() -> None:
    assert task_id("app/add@2026-11-15T07:00:00Z") == "97dd59af-4030-586b-a1ec-e0814843fd3c"
    assert task_id("app/add@2026-11-15T07:01:00Z") != task_id("app/add@2026-11-15T07:00:00Z")


def test_on_redis_the_smallest_number_is_first_and_elsewhere_the_largest() -> None:
    redis, amqp = priorities_of("redis"), priorities_of("amqp")
    assert redis["high"] < redis["normal"] < redis["low"]
    assert amqp["high"] > amqp["normal"] > amqp["low"]
    assert (redis["high"], redis["low"], amqp["high"], amqp["low"]) == (0, 9, 9, 0)


def test_a_message_is_what_celery_itself_would_send() -> None:
    app = memory_app()
    found = made(app, queue="mail", priority="low", expires=60, time_limit=5, shadow="other")
    args, kwargs, _ = found.message.body
    assert (args, kwargs) == ([1], {})
    headers = found.message.headers
    assert (headers["task"], headers["id"], headers["shadow"]) == ("shop.note", "id-1", "other")
    assert headers["timelimit"] == [5, None]
    assert headers["expires"] is not None
    assert found.options["expiration"] == 60
    assert found.options["priority"] == 9
    assert found.options["queue"].name == found.queue == "mail"
    assert found.options["headers"] == {"run_key": "run-1", "celery_beat_task": True}


def test_headers_of_the_job_stand_beside_those_of_the_run() -> None:
    found = made(memory_app(), headers={"tenant": 7})
    assert found.options["headers"] == {"tenant": 7, "run_key": "run-1", "celery_beat_task": True}


def test_options_of_the_task_count_where_the_job_says_nothing() -> None:
    app = memory_app()
    app.task(take_one, name="shop.note", shared=False, serializer="yaml", time_limit=9)
    found = made(app)
    assert (found.options["serializer"], found.message.headers["timelimit"]) == ("yaml", [9, None])
    found = made(app, serializer="json")
    assert (found.options["serializer"], found.message.headers["timelimit"]) == ("json", [9, None])


def test_the_application_routes_what_nobody_else_has_addressed() -> None:
    app = memory_app(task_routes={"shop.*": {"queue": "routed"}})
    assert made(app).queue == "routed"
    assert made(app, queue="mail").queue == "mail"


def test_without_any_address_it_goes_to_the_default_queue() -> None:
    app = memory_app()
    assert made(app).queue == app.conf.task_default_queue


def test_arguments_that_a_known_task_cannot_take_are_not_sent() -> None:
    app = memory_app()
    app.task(take_none, name="shop.note", shared=False)
    with pytest.raises(TypeError, match="positional argument"):
        made(app)
    app.task(take_none, name="shop.untyped", shared=False, typing=False)
    made(app, task="shop.untyped")
