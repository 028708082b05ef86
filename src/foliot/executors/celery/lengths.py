"""How many tasks wait in queues, for the metrics. It is measured only when metrics are read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from foliot.executors.celery.line import open_connection
from foliot.executors.celery.publisher import Watch
from foliot.executors.threads import ThreadCrew
from foliot.model.view import EnqueueHealth
from foliot.protocols import Clock

_PAUSE = timedelta(seconds=15)


class QueueLengths:
    """Asks the broker every 15 seconds."""

    def __init__(
        self, app: Any, queues: Sequence[str], clock: Clock, timeout: timedelta, watch: Watch
    ) -> None:
        self._ask = partial(read_lengths, app, tuple(queues), timeout)
        self._queues = queues
        self._clock = clock
        self._timeout = timeout
        self._watch = watch
        self._threads = ThreadCrew("foliot-celery-lengths", patience=60)
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Ask from now on, if there is a queue to ask for."""
        if self._queues:
            self._task = asyncio.ensure_future(self._ask_on())

    async def close(self) -> None:
        """Ask no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _ask_on(self) -> None:
        while True:
            lengths: dict[str, int] = {}  # if the broker does not answer, nobody knows them
            with suppress(Exception):
                lengths = await self._threads.call(self._ask, self._timeout)
            self._watch(EnqueueHealth(lengths=lengths))
            await self._clock.wait(_PAUSE)


def read_lengths(app: Any, queues: Sequence[str], timeout: timedelta) -> dict[str, int]:
    """How many tasks wait in each queue, of all priorities."""
    with open_connection(app, timeout) as connection:
        connection.ensure_connection(max_retries=0, interval_start=0)
        return {queue: _length(connection, queue) for queue in queues}


def _length(connection: Any, queue: str) -> int:
    try:
        with connection.channel() as channel:  # one that has failed cannot be used again
            return int(channel.queue_declare(queue, passive=True).message_count)
    except connection.channel_errors:  # no such queue: Redis has none that is empty
        return 0
