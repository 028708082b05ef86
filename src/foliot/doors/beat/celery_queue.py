"""Celery as the queue behind a beat: the job's name is a task, its payload are the arguments."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NoReturn, Protocol

from foliot.clock import SystemClock
from foliot.doors.beat.queue import Job
from foliot.errors import InvalidJobError, InvalidPolicyError
from foliot.executors.celery.executor import check_celery_app, warn
from foliot.executors.celery.message import Letter
from foliot.executors.celery.publisher import USUAL_TIMEOUT, Publisher, Watch, ignore_health
from foliot.executors.celery_action import PRIORITIES, TaskCall, celery_task

_HINT = (
    "an object (arguments by name), an array (arguments in order), any other value (one argument), or nothing"
)


class Schedule(Protocol):
    """What is asked of a schedule before anything starts."""

    @property
    def id(self) -> str: ...
    @property
    def job(self) -> str: ...
    @property
    def payload(self) -> bytes: ...


class CeleryQueue:
    """Sends each job as a Celery task of its name, with its metadata as headers.

    `priorities`: numbers for the words high, normal and low; without them, those of the transport. `queues`:
    the Celery queue of each of these words, if they are to have queues of their own. `timeout`: for how long
    the broker may take. `watch`: told of what is enqueued, such as `Metrics().on_enqueued`.
    """

    def __init__(
        self,
        app: Any,
        *,
        priorities: Mapping[str, int] | None = None,
        queues: Mapping[str, str] | None = None,
        timeout: timedelta = USUAL_TIMEOUT,
        watch: Watch = ignore_health,
    ) -> None:
        check_celery_app(app, "app")
        for field, given in (("priorities", priorities), ("queues", queues)):
            for word in given or ():
                if word not in PRIORITIES:
                    hint = f"one of: {', '.join(PRIORITIES)}"
                    raise InvalidPolicyError(field, word, "is no priority", hint=hint)
        self._app = app
        self._priorities = priorities
        self._queues = queues or {}
        self._timeout = timeout
        self._watch = watch
        self._publisher: Publisher | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def check(self, schedule: Schedule) -> None:
        """Refuse a schedule whose payload is no JSON, or whose job can be no task. InvalidJobError."""
        try:
            args, kwargs = arguments_of(schedule.payload)
        except ValueError as error:
            reason = f"of schedule {schedule.id} is no JSON: {error}"
            raise InvalidJobError("payload", schedule.payload, reason, hint=_HINT) from None
        celery_task(schedule.job, args, kwargs)

    async def enqueue(self, job: Job) -> None:
        """Send the task of a job; the broker has it when this returns. EnqueueError."""
        args, kwargs = arguments_of(job.payload)
        options = {"priority": job.priority}
        if job.priority in self._queues:
            options["queue"] = self._queues[job.priority]
        letter = Letter(job.id, TaskCall(job.name, args, kwargs, options), job.metadata)
        await self._publisher_here().publish(letter)

    async def close(self) -> None:
        """Let go of the connection."""
        publisher, self._publisher = self._publisher, None
        if publisher is not None:
            await publisher.close()

    def _publisher_here(self) -> Publisher:
        """A publisher belongs to a loop, and a program may have one loop after the other."""
        loop = asyncio.get_running_loop()
        if self._publisher is None or self._loop is not loop:
            warn(self._app, self._timeout, is_tracked=False)
            self._loop = loop
            self._publisher = Publisher(
                self._app,
                SystemClock(),
                timeout=self._timeout,
                priorities=self._priorities,
                watch=self._watch,
            )
        return self._publisher


def arguments_of(payload: bytes) -> tuple[list[Any], dict[str, Any]]:
    """A payload as arguments: in order, and by name. ValueError if it is no JSON."""
    if not payload.strip():
        return [], {}
    value: Any = json.loads(payload, parse_constant=_refuse_constant)
    if isinstance(value, dict):
        return [], value
    return value if isinstance(value, list) else [value], {}


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")
