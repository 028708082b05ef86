"""An application's access to its store. Everything here runs on the engine's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, fields
from datetime import timedelta
from difflib import get_close_matches
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

from foliot.alerts.channel import Channel
from foliot.app.alerts import check_channels
from foliot.app.options import JobOptions, Template, as_duration, as_notify
from foliot.app.pipelines import RunPipeline, check_run_pipeline
from foliot.errors import (
    AppStateError,
    CommandRefusedError,
    InvalidPolicyError,
    InvalidStoreError,
    shorten,
)
from foliot.executors.place import MakeExecutor
from foliot.model.attempt import Attempt
from foliot.model.decision import Event, Happening
from foliot.model.job import Job, is_name
from foliot.model.policy import Notify, Policy, check_flag
from foliot.model.view import AlertHealth, EnqueueHealth, SourceHealth
from foliot.network.errors import InvalidUrlError
from foliot.network.guard import Opening
from foliot.operations import Definitions, Operations
from foliot.protocols import Changes, Clock, Executor, JobView, Listener, Monitor
from foliot.schedules.duration import format_duration
from foliot.wiring import FullStore, check_executors, check_url, open_store

T = TypeVar("T")

# A lease is renewed every third of its length: a shorter lease would expire during a call of the store.
_SHORTEST = {
    "lease": timedelta(seconds=1),
    "drain": timedelta(microseconds=1),
    "poll": timedelta(milliseconds=10),
}
_LONGEST = timedelta(days=36_525)
_MOST_SLOTS = 1_000_000_000


class Watcher(Listener, Monitor, Protocol):
    """Metrics: gets events of jobs, the health of the node, and the state of sources."""

    def on_source(self, health: SourceHealth) -> None:
        """A source was looked at."""
        ...


@runtime_checkable
class AlertWatcher(Protocol):
    """Metrics about alerts."""

    def on_alerts(self, health: AlertHealth) -> None:
        """Alerts were settled, or waiting ones were counted."""
        ...


@runtime_checkable
class EnqueueWatcher(Protocol):
    """Metrics about tasks in queues of others."""

    def on_enqueued(self, health: EnqueueHealth) -> None:
        """Tasks were enqueued or refused, or waiting ones were counted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSettings:
    """How an application behaves.

    `slots`: how many attempts may run at once, by queue. `groups`: how many attempts of each group may run,
    over all nodes. `lease`: how long a silent node counts as alive. `drain`: how long running jobs may
    continue when the program stops. `poll`: how often to look for jobs that other processes have scheduled.
    `metrics`: the object that counts and measures. `executors`: executors for the program's own kinds of
    action, or functions that make them, by the prefix of the kinds. `http_allow`: servers that jobs of the
    kind `http` may reach beside public ones: host, host:port, range. `pipelines`: the function that runs
    pipelines of the API; None: their actions do. `channels`: objects that send alerts, by name. `notify`: the
    channels of jobs that name none. `node_name`: the name of this process in lists of nodes; by default the
    application's. `tells_failures`: whether failed runs are logged here; False for a door that logs them.
    """

    slots: int | Mapping[str, int] = 1000
    groups: Mapping[str, int] = field(default_factory=dict)
    lease: timedelta | str = timedelta(seconds=30)
    drain: timedelta | str = timedelta(seconds=30)
    poll: timedelta | str = timedelta(seconds=1)
    metrics: Watcher | None = None
    executors: Mapping[str, Executor | MakeExecutor] = field(default_factory=dict)
    http_allow: Sequence[str] = ()
    pipelines: RunPipeline | None = None
    channels: Mapping[str, Channel] = field(default_factory=dict)
    notify: Notify | str | Sequence[str] | None = None
    node_name: str = ""
    tells_failures: bool = True

    def __post_init__(self) -> None:
        for name in ("lease", "drain", "poll"):
            duration = as_duration(name, getattr(self, name))
            least, most = _SHORTEST[name], _LONGEST
            if not least <= duration <= most:
                reason = f"must lie between {format_duration(least)} and {format_duration(most)}"
                raise InvalidPolicyError(name, getattr(self, name), reason, hint='such as "30s"')
            object.__setattr__(self, name, duration)
        slots: object = {"default": self.slots} if isinstance(self.slots, int) else self.slots
        if not isinstance(slots, Mapping) or not slots or not all(map(_is_slot, slots.items())):
            hint = 'a number, or one for each queue: {"default": 100, "slow": 2}'
            reason = f"must be a number from 1 to {_MOST_SLOTS}"
            raise InvalidPolicyError("slots", self.slots, reason, hint=hint)
        object.__setattr__(self, "slots", dict(slots))
        groups: object = self.groups
        if not isinstance(groups, Mapping) or not all(map(_is_slot, groups.items())):
            hint = 'how many runs of each group at once: {"db": 1, "mail": 5}'
            reason = f"must give each group a number from 1 to {_MOST_SLOTS}"
            raise InvalidPolicyError("groups", groups, reason, hint=hint)
        object.__setattr__(self, "groups", dict(groups))
        if self.metrics is not None and not hasattr(self.metrics, "on_health"):
            hint = "Metrics() of foliot.observability"
            raise InvalidPolicyError("metrics", self.metrics, "cannot be told anything", hint=hint)
        check_channels(self.channels)
        Policy(notify=as_notify(self.notify))
        object.__setattr__(self, "http_allow", _openings(self.http_allow))
        check_executors(self.executors)
        check_run_pipeline(self.pipelines)
        object.__setattr__(self, "executors", dict(self.executors))
        if self.node_name != "" and not is_name(self.node_name):
            raise InvalidPolicyError(
                "node_name", self.node_name, "must be a printable text", hint='such as "web-1"'
            )
        check_flag("tells_failures", self.tells_failures)


def _openings(given: object) -> tuple[str, ...]:
    """The allowed servers, checked; they are read at each start."""
    hint = 'such as ["intern.example:8080", "10.0.0.0/8"]'
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidPolicyError("http_allow", given, "must be a list of hosts and ranges", hint=hint)
    for text in given:
        try:
            Opening.read(text if isinstance(text, str) else "")
        except InvalidUrlError as error:
            raise InvalidPolicyError("http_allow", text, error.reason, hint=error.hint or hint) from None
    return tuple(given)


def _is_slot(slot: tuple[object, object]) -> bool:
    queue, count = slot
    is_count = isinstance(count, int) and not isinstance(count, bool)
    return is_name(queue) and is_count and 1 <= count <= _MOST_SLOTS  # type: ignore[operator] # it is one


def check_clock(clock: object) -> None:
    """Raise an error if this is not a clock."""
    if not all(callable(getattr(clock, name, None)) for name in ("now", "monotonic", "wait")):
        hint = "leave it out, or give it a ManualClock() of foliot.testing.clock"
        raise InvalidPolicyError("clock", clock, "is no clock", hint=hint)


def check_store(store: object) -> None:
    """Raise an error if this is not the URL of a store."""
    if not isinstance(store, str):
        raise InvalidStoreError(shorten(store), "is no URL", hint='such as "sqlite:///jobs.db"')
    check_url(store)


def make_settings(given: Mapping[str, Any]) -> AppSettings:
    """Settings from arguments as users write them."""
    known = [field.name for field in fields(AppSettings)]
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"one of: {', '.join(known)}"
            raise InvalidPolicyError("setting", name, "is not known", hint=hint)
    return AppSettings(**given)


class Core:
    """The store of an application, opened when it is first needed, and calls on it."""

    def __init__(self, url: str, name: str, clock: Clock, settings: AppSettings) -> None:
        self.name = name
        self.added = f"{name}.added"  # the source of jobs that are scheduled while the program runs
        self.clock = clock
        self.settings = settings
        self.listeners: list[Callable[[Event], None]] = []
        self.handle_events: Callable[[Sequence[Event]], None] = _ignore_events  # the engine's, while one runs
        self.url = url
        self.failure: BaseException | None = None  # of the engine that runs, or was the last to run
        self._open = AsyncExitStack()
        self._store: FullStore | None = None
        self._opening = asyncio.Lock()
        self._definitions = Definitions(self.store, self.added, self._handle_now, "added")
        self._awaited: dict[str, asyncio.Event] = {}  # runs, by their keys
        self._closings = 0

    def template(self, source: str, options: JobOptions) -> Template:
        """What many jobs of a source have in common."""
        return Template(source, options, self.settings.notify, self.settings.groups)

    async def store(self) -> FullStore:
        """The store, open."""
        async with self._opening:
            if self._store is None:
                lease = as_duration("lease", self.settings.lease)
                self._store = await self._open.enter_async_context(
                    open_store(self.url, self.clock, lease=lease)
                )
            return self._store

    async def close(self) -> None:
        """Close the store. The next call opens it again."""
        async with self._opening:
            self._store = None
            self._closings += 1
            await self._open.aclose()

    # -- definitions -------------------------------------------------------------------------------

    async def declare(self, jobs: tuple[Job, ...]) -> None:
        """Add or change jobs."""
        await self._definitions.change(Changes(declared=jobs))

    async def remove(self, names: Sequence[str]) -> None:
        """Remove jobs that were added."""
        operations = await self._operations()
        for name in names:
            if not (await operations.find(name)).key.startswith(f"{self.added}/"):
                raise CommandRefusedError(
                    name, "the job is declared in the code", hint="remove it there, or pause it"
                )
        await self._definitions.change(Changes(removed=tuple(names)))

    def _handle_now(self, events: Sequence[Event]) -> None:
        self.handle_events(events)  # the present engine; there may be another one later

    # -- questions and commands --------------------------------------------------------------------

    async def ask(self, question: Callable[[Operations], Awaitable[T]]) -> T:
        """Call an operation; jobs of this application are named without their source."""
        return await question(await self._operations())

    async def _operations(self) -> Operations:
        store, home = await self.store(), (self.name, self.added)
        wait = partial(self._wait_for, self._closings)
        return Operations(store, self.clock, home=home, wait=wait, tell=self.handle_events)

    async def views(self, *sources: str) -> list[JobView]:
        """All jobs of the application, or of some of its sources."""
        return [view async for view in (await self._operations()).every_job(*sources)]

    async def finished(self, run: object, timeout: timedelta | str | None) -> Attempt:  # noqa: ASYNC109 - a text, too
        """Wait for a run to end; returns its last attempt."""
        limit = None if timeout is None else as_duration("timeout", timeout)
        return await (await self._operations()).finished(run, timeout=limit)

    async def _wait_for(self, closings: int, run: str, duration: timedelta) -> None:
        """Wait until a run ends in this process, or until it is time to look into the store."""
        try:
            await self.clock.wait(duration, self._awaited.setdefault(run, asyncio.Event()))
        finally:
            self._awaited.pop(run, None)
        if closings != self._closings:
            raise AppStateError(self.name, "it was stopped while a run was waited for")

    def note_ends(self, events: Sequence[Event]) -> None:
        """Wake the callers that wait for these runs."""
        for event in events if self._awaited else ():
            if event.what is Happening.ENDED and event.run_key in self._awaited:
                self._awaited[event.run_key].set()


def _ignore_events(_: Sequence[Event]) -> None:
    """No engine runs here; other processes find changes by polling."""
