"""Hints: that something has changed, not what. Who is interested asks again, so nothing is lost with a hint.

    job:ops~2Fbackup   run:…   log:…/1   jobs   nodes   sources   overview

They come from events of this process at once. While there are watchers, a poller looks each second at what
other nodes do: open attempts, the newest attempts, nodes, sources, and logs that a watcher has named. A
watcher that reads too slowly is told to look at everything anew (`resync`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple

from foliot.api.ids import id_of, key_of
from foliot.errors import StoreError
from foliot.model.attempt import Attempt
from foliot.model.decision import Event, Happening
from foliot.operations import Operations
from foliot.protocols import Clock

POLL = timedelta(seconds=1)
_PAUSE = timedelta(milliseconds=200)
_PAUSE_FOR_EACH = timedelta(milliseconds=4)
_MOST_WAITING = 1000
_NEWEST = 200
_MOST_DIGITS = 6  # of the number of an attempt
_DEFINED = (Happening.DECLARED, Happening.CHANGED, Happening.REMOVED, Happening.PAUSED, Happening.RESUMED)


class Hint(NamedTuple):
    """A topic in which something has changed; `source` is that of its job, if it is about one.

    `version` and `token` are those of the attempt that it is about, if it is about one: a client that has
    seen them need not ask again.
    """

    topic: str
    source: str | None = None
    version: int | None = None
    token: int | None = None


class Watcher:
    """Who waits for hints of some topics; none: of all. `sources`: which may be seen; None: all."""

    def __init__(self, topics: Collection[str], sources: Collection[str] | None) -> None:
        self.topics, self._sources = frozenset(topics), sources
        self._waiting: dict[str, Hint] = {}  # in their order; of one topic, the newest
        self.is_behind = False
        self.news = asyncio.Event()

    def offer(self, hint: Hint) -> None:
        """Take a hint, if it is wanted and may be seen."""
        if self.topics and hint.topic not in self.topics:
            return
        if self._sources is not None and hint.source is not None and hint.source not in self._sources:
            return
        if len(self._waiting) >= _MOST_WAITING:
            self._waiting.clear()
            self.is_behind = True
        self._waiting[hint.topic] = hint
        self.news.set()

    def take(self) -> list[Hint]:
        """What has changed since the last call."""
        taken, self._waiting = list(self._waiting.values()), {}
        self.news.clear()
        return taken


class Hub:
    """Tells all watchers. It lives on the loop of the API."""

    def __init__(self, ops: Operations, clock: Clock) -> None:
        self._ops, self._clock = ops, clock
        self._loop = asyncio.get_running_loop()
        self._watchers: set[Watcher] = set()
        self._poller: asyncio.Task[None] | None = None
        self._seen: dict[str, Any] = {}

    @property
    def pause(self) -> timedelta:
        """How long a watcher rests after hints: many rest longer, as their work delays the engine."""
        return max(_PAUSE, _PAUSE_FOR_EACH * len(self._watchers))

    @contextmanager
    def watching(self, topics: Collection[str], sources: Collection[str] | None) -> Iterator[Watcher]:
        """A watcher, for a while."""
        watcher = Watcher(topics, sources)
        self._watchers.add(watcher)
        if self._poller is None or self._poller.done():
            self._poller = asyncio.ensure_future(self._poll_on())
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)

    def note_from_other_thread(self, event: Event) -> None:
        """The same as `note`, from the engine's thread: quick, and nothing at all without a watcher."""
        if self._watchers:
            with suppress(RuntimeError):  # the loop of the API has ended
                self._loop.call_soon_threadsafe(self.note, event)

    def note(self, event: Event) -> None:
        """Something happened to a job."""
        if not self._watchers:
            return
        self._tell_job(event.job, event.run_key, event.attempt)
        if event.what in _DEFINED:
            self._tell(Hint("jobs", _source(event.job)))
        self._tell(Hint("overview"))

    def _tell_job(self, job: str, run: str | None, attempt: Attempt | None) -> None:
        facts = (None, None) if attempt is None else (attempt.version or None, attempt.token or None)
        self._tell(Hint(f"job:{id_of(job)}", _source(job), *facts))
        if run is not None:
            self._tell(Hint(f"run:{id_of(run)}", _source(job), *facts))

    def _tell(self, hint: Hint) -> None:
        for watcher in self._watchers:
            watcher.offer(hint)

    async def close(self) -> None:
        """End the poller."""
        if self._poller is not None:
            self._poller.cancel()
            with suppress(asyncio.CancelledError):
                await self._poller

    # -- what other nodes do -----------------------------------------------------------------------

    async def _poll_on(self) -> None:
        self._seen = {}
        while self._watchers:
            with suppress(StoreError):
                await self._poll()
            await self._clock.wait(POLL)

    async def _poll(self) -> None:
        ops = self._ops
        attempts = {*await ops.attempts(is_open=True, limit=_NEWEST), *await ops.attempts(limit=_NEWEST)}
        for attempt in self._changed(
            "attempts", {a.key: _mark(a) for a in attempts}, attempts, lambda a: a.key
        ):
            self._tell_job(attempt.job, attempt.run_key, attempt)
            self._tell(Hint("overview"))
        sources = await ops.store.sources()
        marks = {view.source: view for view in sources}
        for view in self._changed("sources", marks, sources, lambda view: view.source):
            self._tell(Hint("sources", view.source))
            self._tell(Hint("jobs", view.source))
        nodes = await ops.store.nodes()
        living = {view.node.id: (view.node.is_draining, view.open_count) for view in nodes}
        if self._seen.get("nodes", living) != living:
            self._tell(Hint("nodes"))
        self._seen["nodes"] = living
        await self._poll_logs()

    async def _poll_logs(self) -> None:
        """Also the first look tells: since its client last asked, the log may have grown."""
        before, self._seen["logs"] = self._seen.get("logs", {}), (ends := dict[str, int]())
        for topic in {topic for watcher in self._watchers for topic in watcher.topics}:
            if (attempt := read_log_topic(topic)) is None:
                continue
            ends[topic] = before.get(topic, 0)
            output = await self._ops.store.output(*attempt, ends[topic])
            if output is not None and output.text:
                ends[topic] = output.end
                self._tell(Hint(topic, _source(output.job)))

    def _changed(
        self, what: str, marks: dict[Any, Any], found: Collection[Any], key: Callable[[Any], Any]
    ) -> list[Any]:
        """Those that are other than at the last look; at the first look, none."""
        before, self._seen[what] = self._seen.get(what), marks
        if before is None:
            return []
        return [one for one in found if before.get(key(one)) != marks[key(one)]]


def read_log_topic(topic: str) -> tuple[str, int] | None:
    """The run and the number of the attempt that `log:RUN/N` is about; None if it is no such topic."""
    run, _, number = topic.removeprefix("log:").rpartition("/")
    key = key_of(run)
    is_number = number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS
    is_key = key is not None and key.isprintable()  # no database need be asked about odd characters
    return (key, int(number)) if topic.startswith("log:") and key and is_key and is_number else None


def _mark(attempt: Attempt) -> Any:
    return attempt.state, attempt.outcome, attempt.node


def _source(job: str) -> str:
    return job.partition("/")[0]
