"""What runs have written so far, brought to the store while they run, so that others can follow it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta

from foliot.errors import StoreError
from foliot.executors.run_log import RunLog
from foliot.model.output import HEAD, TAIL
from foliot.protocols import Clock, OutputPart, OutputStore, Run

FollowLog = Callable[[Run, RunLog], None]

_PAUSE = timedelta(seconds=1)


class LiveOutput:
    """Looks at the logs of runs about once a second, and writes what is new.

    Runs that are shorter than that cost nothing: the engine writes their output when they have ended.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._logs: dict[tuple[str, int], _Followed] = {}
        self._has_logs = asyncio.Event()

    def follow(self, run: Run, log: RunLog) -> None:
        """A run has a log from now on, until that is closed. May be called in any thread."""
        self._logs[run.key] = _Followed(run, log)
        if not self._has_logs.is_set():
            with suppress(RuntimeError):  # the engine's loop is closed: nothing is followed any more
                self._loop.call_soon_threadsafe(self._has_logs.set)

    async def write_on(self, store: OutputStore, clock: Clock) -> None:
        """Write what is new, until cancelled. If the store is away, it is written with the next."""
        while True:
            await self._has_logs.wait()
            await clock.wait(_PAUSE)
            self._has_logs.clear()  # a log that comes from here on sets it again
            for key, followed in list(self._logs.items()):
                if followed.log.is_closed:
                    del self._logs[key]
            logs = list(self._logs.values())
            if logs:
                self._has_logs.set()
            found = [(followed, part) for followed in logs for part in followed.new_parts()]
            with suppress(StoreError):  # the engine tells of a store that is away
                if found:
                    await store.append_outputs([part for _, part in found])
                    for followed, part in found:
                        followed.note(part)


class _Followed:
    """A log, how much of it is written, and where the parts begin that are kept behind the beginning."""

    def __init__(self, run: Run, log: RunLog) -> None:
        self.log = log
        self._job = run.attempt.job
        self._key = run.key
        self._place = 0
        self._starts: deque[int] = deque()

    def new_parts(self) -> Iterator[OutputPart]:
        for start, text in self.log.since(self._place):
            end = start + len(text)
            later = [place for place in (*self._starts, start) if place >= HEAD]
            # Of the parts that begin so late that all behind them is enough, the last.
            kept_from = max((place for place in later if end - place >= TAIL), default=0)
            yield OutputPart(self._job, *self._key, start, text, kept_from)

    def note(self, part: OutputPart) -> None:
        """It is written."""
        self._place = part.start + len(part.text)
        self._starts.append(part.start)
        while self._starts and self._starts[0] < part.kept_from:
            self._starts.popleft()
