"""Hints: they say that something has changed, not what. A client then asks again; a lost hint does no harm.

    job:ops~2Fbackup   run:…   log:…/1   jobs   nodes   sources   overview

They come from events of this process at once. While there are watchers, a poller looks each second at what
other nodes do: open attempts, the newest attempts, nodes, sources, and logs that a watcher has named.

    events, poller ──▶ hints by topic ──▶ every 200 ms or so: a batch for all watchers of the same topics
                       the newest counts      encoded once, however many they are

Where too much changes at a time, and for a watcher that reads too slowly, the batch is a `resync`: look at
everything anew. Hundreds of streams must not delay the jobs of the same process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from typing import Any, NamedTuple

from foliot.api.ids import id_of, key_of
from foliot.api.sent import Sent
from foliot.errors import StoreError
from foliot.model.attempt import Attempt
from foliot.model.decision import Event, Happening
from foliot.operations import Operations
from foliot.protocols import Clock

POLL = timedelta(seconds=1)
_PAUSE = timedelta(milliseconds=200)
_PAUSE_FOR_EACH = timedelta(milliseconds=2)
_AT_ONCE = 16  # watchers that are given a batch before the next ones wait
_QUIET = timedelta(hours=1)
_MOST_TOPICS = 200  # of a batch
_MOST_WAITING = 5  # batches of a watcher
_NEWEST = 200
_MOST_DIGITS = 6  # of the number of an attempt
RESYNC = Sent("resync", {})
GiveWay = Callable[[], Coroutine[Any, Any, None]]
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


class Batch:
    """Hints that are sent at once. `is_resync`: they are too many, so look at everything anew."""

    def __init__(self, hints: Sequence[Hint]) -> None:
        self.is_resync = len(hints) > _MOST_TOPICS
        self.hints = () if self.is_resync else tuple(hints)

    @cached_property
    def text(self) -> bytes:
        """The batch as it is sent: made once, for all streams."""
        if self.is_resync:
            return RESYNC.encoded()
        told = ({"topic": one.topic, "version": one.version, "token": one.token} for one in self.hints)
        return b"".join(Sent("changed", one).encoded() for one in told)

    def encoded(self) -> bytes:
        """The same."""
        return self.text


ANEW = Batch([Hint("")] * (_MOST_TOPICS + 1))


class Subscription(NamedTuple):
    """What watchers wait for: some topics; none: all. `sources`: which may be seen; None: all."""

    topics: frozenset[str]
    sources: frozenset[str] | None

    def means(self, hint: Hint) -> bool:
        """Whether a hint is wanted and may be seen. A hint about all sources is not for who sees some."""
        is_seen = self.sources is None or hint.source in self.sources
        return is_seen and (not self.topics or hint.topic in self.topics)


class Watcher:
    """A client that waits for hints."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self._waiting: list[Batch] = []
        self.news = asyncio.Event()

    def give(self, batch: Batch) -> None:
        """Add a batch. A watcher that has not taken several is to look at everything anew."""
        if len(self._waiting) >= _MOST_WAITING:
            self._waiting, batch = [], ANEW
        self._waiting.append(batch)
        self.news.set()

    def take(self) -> list[Batch]:
        """What was given since the last call."""
        taken, self._waiting = self._waiting, []
        self.news.clear()
        return taken


class Hub:
    """Tells all watchers. It lives on the loop of the API. `give_way` lets the engine go first."""

    def __init__(self, ops: Operations, clock: Clock, give_way: GiveWay) -> None:
        self._ops, self._clock, self._give_way = ops, clock, give_way
        self._loop = asyncio.get_running_loop()
        self._watchers: dict[Subscription, set[Watcher]] = {}
        self._pending: dict[str, Hint] = {}  # in their order; of one topic, the newest
        self._has_news = asyncio.Event()
        self._tasks: dict[Callable[[], Coroutine[Any, Any, None]], asyncio.Task[None]] = {}
        self._seen: dict[str, Any] = {}

    @contextmanager
    def watching(self, topics: Collection[str], sources: Collection[str] | None) -> Iterator[Watcher]:
        """A watcher, for a while."""
        watcher = Watcher(Subscription(frozenset(topics), None if sources is None else frozenset(sources)))
        self._watchers.setdefault(watcher.subscription, set()).add(watcher)
        for work in (self._poll_on, self._send_on):
            if work not in self._tasks or self._tasks[work].done():
                self._tasks[work] = asyncio.ensure_future(work())
        try:
            yield watcher
        finally:
            alike = self._watchers[watcher.subscription]
            alike.discard(watcher)
            if not alike:
                del self._watchers[watcher.subscription]
                self._has_news.set()  # without watchers all work ends

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
        if event.attempt is not None and (seen := self._seen.get("attempts")) is not None:
            seen[event.attempt.key] = _mark(event.attempt)  # the poller need not tell it again
        if event.what in _DEFINED:
            self._tell(Hint("jobs", _source(event.job)))
        self._tell(Hint("overview"))

    def _tell_job(self, job: str, run: str | None, attempt: Attempt | None) -> None:
        facts = (None, None) if attempt is None else (attempt.version or None, attempt.token or None)
        self._tell(Hint(f"job:{id_of(job)}", _source(job), *facts))
        if run is not None:
            self._tell(Hint(f"run:{id_of(run)}", _source(job), *facts))

    def _tell(self, hint: Hint) -> None:
        self._pending[hint.topic] = hint
        self._has_news.set()

    async def send(self) -> None:
        """Give all watchers what has changed since the last time: a few, then a pause for the engine."""
        hints, self._pending = list(self._pending.values()), {}
        for subscription, watchers in list(self._watchers.items()):
            if meant := [hint for hint in hints if subscription.means(hint)]:
                batch = Batch(meant)
                for number, watcher in enumerate(list(watchers)):
                    if number % _AT_ONCE == 0:
                        await self._clock.wait(_PAUSE_FOR_EACH * min(number, _AT_ONCE))
                        await self._give_way()
                    watcher.give(batch)

    async def _send_on(self) -> None:
        while self._watchers:
            await self._clock.wait(_QUIET, self._has_news)
            self._has_news.clear()
            await self.send()
            # What comes meanwhile is sent together. Many watchers rest longer: their work delays the engine.
            count = sum(map(len, self._watchers.values()))
            await self._clock.wait(max(_PAUSE, _PAUSE_FOR_EACH * count))

    async def close(self) -> None:
        """End all work."""
        for task in self._tasks.values():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

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
        for topic in {topic for subscription in self._watchers for topic in subscription.topics}:
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
