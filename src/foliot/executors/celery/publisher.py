"""Sends tasks, in the order in which they come, from an event loop that is never blocked.

    send(letters) ──▶ those that wait ──▶ up to 100 at once ──▶ a thread, with a deadline ──▶ on_sent
                                              ▲ the next, when these have ended │
                                              └─────────────────────────────────┘

A broker that does not answer costs one deadline, not one for each task: all that wait behind are refused at
once, and come again as their policies say.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any

from foliot.executors.celery.errors import EnqueueError, EnqueueRefusedError
from foliot.executors.celery.line import Batch, Line
from foliot.executors.celery.message import Letter
from foliot.executors.threads import ThreadCrew
from foliot.model.view import EnqueueHealth
from foliot.protocols import Clock

OnSent = Callable[[Letter, EnqueueError | None], None]
Watch = Callable[[EnqueueHealth], None]

USUAL_TIMEOUT = timedelta(seconds=5)
_MOST_AT_ONCE = 100
_log = logging.getLogger("foliot")


def ignore_health(_: EnqueueHealth) -> None:
    """Nobody counts."""


class Publisher:
    """Sends tasks to the broker of a Celery application. It belongs to the loop on which it is made.

    `timeout`: for how long a broker may take. `priorities`: numbers for the words high, normal and low, where
    the usual ones of the transport do not fit.
    """

    def __init__(
        self,
        app: Any,
        clock: Clock,
        *,
        timeout: timedelta = USUAL_TIMEOUT,
        priorities: Mapping[str, int] | None = None,
        watch: Watch = ignore_health,
    ) -> None:
        self._clock = clock
        self._timeout = timeout
        self._make_line = partial(Line, app, timeout, priorities)
        self._line = self._make_line()
        self._watch = watch
        self._threads = ThreadCrew("foliot-celery")
        self._waiting: deque[tuple[Letter, OnSent, float]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._is_in_trouble = False

    def send(self, letters: Sequence[Letter], on_sent: OnSent) -> None:
        """Send letters; `on_sent` is told of each, on this loop and not before this returns."""
        at = self._clock.monotonic()
        self._waiting.extend((letter, on_sent, at) for letter in letters)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.ensure_future(self._work())

    async def publish(self, letter: Letter) -> None:
        """Send one letter, and wait until the broker has it. EnqueueError."""
        sent: asyncio.Future[EnqueueError | None] = asyncio.get_running_loop().create_future()
        self.send([letter], partial(_settle, sent))
        if (error := await sent) is not None:
            raise error

    def take_back(self, letter_id: str) -> bool:
        """Do not send a letter that still waits; whether it did."""
        for entry in self._waiting:
            if entry[0].id == letter_id:
                self._waiting.remove(entry)
                return True
        return False

    async def close(self) -> None:
        """Let go of the connection, when what is under way has ended."""
        if self._worker is not None:
            await asyncio.wait((self._worker,))
        self._threads.do(self._line.close)

    # -- inside ------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while self._waiting:
            entries = list(islice(self._waiting, _MOST_AT_ONCE))
            for _ in entries:
                self._waiting.popleft()
            batch = Batch([letter for letter, _, _ in entries])
            outcomes = await self._sent(batch)
            trouble = next((error for error in outcomes if error is not None and not error.is_final), None)
            if trouble is not None and None not in outcomes:
                entries += self._waiting
                refusal = trouble.details["reason"]
                outcomes += [EnqueueRefusedError(entry[0].call.task, refusal) for entry in self._waiting]
                self._waiting.clear()
            self._tell(trouble, is_taken=None in outcomes)
            self._count(entries, batch.queues, outcomes)
            for (letter, on_sent, _), error in zip(entries, outcomes, strict=True):
                on_sent(letter, error)

    async def _sent(self, batch: Batch) -> list[EnqueueError | None]:
        with suppress(TimeoutError):
            await self._threads.call(partial(self._send_on, self._line, batch), self._timeout)
            return batch.outcomes()
        self._line = self._make_line()  # a thread hangs on the old one
        return batch.outcomes()

    def _send_on(self, line: Line, batch: Batch) -> None:
        line.send(batch)
        if self._line is not line:
            line.close()  # it was given up meanwhile

    def _tell(self, trouble: EnqueueError | None, *, is_taken: bool) -> None:
        """Tell once that the broker does not take tasks, and once that it does again."""
        if is_taken and self._is_in_trouble:
            self._is_in_trouble = False
            _log.info("broker_recovered")
        elif trouble is not None and not is_taken and not self._is_in_trouble:
            self._is_in_trouble = True
            _log.warning("broker_trouble error=%s", json.dumps(trouble.message))

    def _count(
        self,
        entries: Sequence[tuple[Letter, OnSent, float]],
        queues: Sequence[str],
        outcomes: Sequence[EnqueueError | None],
    ) -> None:
        now = self._clock.monotonic()
        ends = zip(entries, outcomes, strict=True)
        enqueued = [
            (queue, timedelta(seconds=now - at))
            for queue, ((_, _, at), error) in zip(queues, ends, strict=False)
            if error is None
        ]
        failures = [error.label for error in outcomes if error is not None]
        try:
            self._watch(EnqueueHealth(enqueued, failures))
        except Exception:  # noqa: BLE001 - a fault of theirs must stop nobody
            _log.exception("listener_failed")


def _settle(sent: asyncio.Future[EnqueueError | None], _: Letter, error: EnqueueError | None) -> None:
    if not sent.done():
        sent.set_result(error)
