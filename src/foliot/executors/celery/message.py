"""From a job's run to the message that a Celery worker gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from foliot.executors.celery_action import TaskCall

_NAMESPACE = UUID("5d4b1b7c-6a53-5c8e-9a2e-6f6c696f7400")
# Options that a task may have by its definition in code; those of the job count more.
_OF_TASK = (
    "queue", "routing_key", "exchange", "priority", "expires", "serializer", "delivery_mode", "compression",
    "time_limit", "soft_time_limit",
)  # fmt: skip
# What the message itself says; all other options say how it is sent.
_OF_MESSAGE = ("time_limit", "soft_time_limit", "shadow", "ignore_result", "expires")
# Redis takes the smallest number first, AMQP the largest.
_ON_REDIS = {"high": 0, "normal": 3, "low": 9}
_ON_OTHERS = {"high": 9, "normal": 5, "low": 0}


class Letter(NamedTuple):
    """A Celery task that is to be sent. `headers` say of which run it is."""

    id: str
    call: TaskCall
    headers: Mapping[str, Any]


class Message(NamedTuple):
    """A letter as `app.amqp.send_task_message` takes it. `queue` is the name of where it goes."""

    task: str
    message: Any
    options: dict[str, Any]
    queue: str


def task_id(run_key: str) -> str:
    """The id of the Celery task of a run: the same for each attempt at it."""
    return str(uuid5(_NAMESPACE, run_key))


def priorities_of(driver_type: str) -> Mapping[str, int]:
    """The numbers of the words high, normal and low, for a transport of kombu."""
    return _ON_REDIS if driver_type == "redis" else _ON_OTHERS


def make_message(app: Any, letter: Letter, priorities: Mapping[str, int]) -> Message:
    """The message of a letter, addressed as the application routes it. Raises what Celery finds wrong.

    It is what `app.send_task` does, except that the result backend is left alone: that of Redis would
    subscribe to one more channel for each task that is sent.
    """
    name, args, kwargs, options, _ = letter.call
    task = app.tasks.get(name)
    options = {**_own_options(task), **options}
    _check_arguments(task, args, kwargs)
    if isinstance(word := options.get("priority"), str):
        options["priority"] = priorities[word]
    of_message = {field: options.pop(field, None) for field in _OF_MESSAGE}
    options = app.amqp.router.route(options, name, args, kwargs, task)
    expires = of_message["expires"]
    if isinstance(expires, int | float):
        options["expiration"] = expires  # for brokers that drop by themselves what is too old
    options["headers"] = {**options.get("headers", {}), **letter.headers, "celery_beat_task": True}
    message = app.amqp.create_task_message(
        letter.id, name, args, kwargs, create_sent_event=app.conf.task_send_sent_event, **of_message
    )
    queue = options.get("queue")
    name_of_queue = getattr(queue, "name", queue) or options.get("routing_key") or app.conf.task_default_queue
    return Message(name, message, options, str(name_of_queue))


def _own_options(task: Any) -> dict[str, Any]:
    found = {name: getattr(task, name, None) for name in _OF_TASK}
    return {name: value for name, value in found.items() if value is not None}


def _check_arguments(task: Any, args: Any, kwargs: Any) -> None:
    """A task that is known here is not sent with arguments that it cannot take."""
    if getattr(task, "typing", False) and (check := getattr(task, "__header__", None)) is not None:
        check(*args, **kwargs)
