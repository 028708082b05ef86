"""What an application does with its store. Everything here runs on the engine's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import uuid4

from foliot.app.options import as_duration
from foliot.engine.foresight import Why, foresee, look_back
from foliot.engine.plan_command import Cancel, Command, Pause, Resume, RunNow, plan_command
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.errors import (
    CommandRefusedError,
    InvalidPolicyError,
    JobNotFoundError,
    StaleRevisionError,
    StoreUnavailableError,
)
from foliot.model.attempt import Attempt
from foliot.model.decision import Event
from foliot.model.job import Job
from foliot.model.view import SourceHealth
from foliot.protocols import Changes, Clock, JobQuery, JobView, Listener, Monitor, RunQuery
from foliot.wiring import FullStore, open_store

_PAGE = 1000
_MOST_RUNS = 1_000_000  # of one job, that an answer is looked for in


class Watcher(Listener, Monitor, Protocol):
    """Is told what happens to jobs, how the node fares, and how sources that are followed do: metrics."""

    def on_source(self, health: SourceHealth) -> None:
        """A source was looked at."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSettings:
    """How an application behaves.

    `slots`: how many attempts may run at once, by queue. `lease`: for how long a node that is silent counts
    as living. `drain`: for how long what runs may go on when the program is stopped. `poll`: how often to
    look for what another process has scheduled. `metrics`: what counts and measures, if anything does.
    """

    slots: int | Mapping[str, int] = 1000
    lease: timedelta | str = timedelta(seconds=30)
    drain: timedelta | str = timedelta(seconds=30)
    poll: timedelta | str = timedelta(seconds=1)
    metrics: Watcher | None = None

    def __post_init__(self) -> None:
        for name in ("lease", "drain", "poll"):
            object.__setattr__(self, name, as_duration(name, getattr(self, name)))
        slots: object = {"default": self.slots} if isinstance(self.slots, int) else self.slots
        if not isinstance(slots, Mapping) or not slots or not all(_is_count(n) for n in slots.values()):
            hint = 'a number, or one for each queue: {"default": 100, "slow": 2}'
            raise InvalidPolicyError("slots", self.slots, "must be at least 1", hint=hint)
        object.__setattr__(self, "slots", dict(slots))
        if self.metrics is not None and not hasattr(self.metrics, "on_pulse"):
            hint = "Metrics() of foliot.observability"
            raise InvalidPolicyError("metrics", self.metrics, "cannot be told anything", hint=hint)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def make_settings(given: Mapping[str, Any]) -> AppSettings:
    """Settings from what users write."""
    known = [field.name for field in fields(AppSettings)]
    for name in given:
        if name not in known:
            hint = f"one of: {', '.join(known)}"
            raise InvalidPolicyError("setting", name, "is not known", hint=hint)
    return AppSettings(**given)


class Core:
    """The store of an application, opened when it is first needed, and its verbs."""

    def __init__(self, url: str, name: str, clock: Clock, settings: AppSettings) -> None:
        self.name = name
        self.added = f"{name}.added"  # the source of jobs that are scheduled while the program runs
        self.clock = clock
        self.settings = settings
        self.listeners: list[Callable[[Event], None]] = []
        self.heed: Callable[[Sequence[Event]], None] = _heed_not  # the engine's, while one runs
        self.url = url
        self.failure: BaseException | None = None  # of the engine that runs, or was the last to run
        self._open = AsyncExitStack()
        self._store: FullStore | None = None
        self._opening = asyncio.Lock()
        self._waiting: list[tuple[Changes, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

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
        """Let go of the store. It is opened again if it is needed again."""
        async with self._opening:
            self._store = None
            await self._open.aclose()

    # -- definitions -------------------------------------------------------------------------------

    async def declare(self, jobs: tuple[Job, ...]) -> None:
        """Add or change jobs."""
        await self._change(Changes(declared=jobs))

    async def remove(self, names: Sequence[str]) -> None:
        """Remove jobs that were added."""
        for name in names:
            if not (await self._view(name)).key.startswith(f"{self.added}/"):
                raise CommandRefusedError(
                    name, "the job is declared in the code", hint="remove it there, or pause it"
                )
        await self._change(Changes(removed=tuple(names)))

    async def _change(self, changes: Changes) -> None:
        """Callers that come at the same time share one write: one wait for the disk instead of many."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((changes, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self._write())  # nobody's own: a caller may be cancelled
        await done

    async def _write(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            await self._change_together(waiting)

    async def _change_together(self, waiting: list[tuple[Changes, asyncio.Future[None]]]) -> None:
        together = Changes(
            tuple(job for changes, _ in waiting for job in changes.declared),
            tuple(name for changes, _ in waiting for name in changes.removed),
        )
        try:
            await self._reconcile(together)
        except Exception as error:  # noqa: BLE001 - handed to whom it belongs
            if len(waiting) > 1 and not isinstance(error, StoreUnavailableError):
                for one in waiting:  # whose fault was it? Not everybody's
                    await self._change_together([one])
                return
            for _, done in waiting:
                if not done.done():
                    done.set_exception(error)
        else:
            for _, done in waiting:
                if not done.done():
                    done.set_result(None)

    async def _reconcile(self, changes: Changes) -> None:
        store = await self.store()
        base = await store.revision(self.added)
        while True:
            now = await store.now()
            try:
                events = await store.reconcile(
                    self.added,
                    base,
                    f"added-{uuid4().hex}",
                    changes,
                    declared=lambda job, record, now=now: plan_declared(job, record, now),  # type: ignore[misc]
                    removed=lambda record, now=now: plan_removed(record, now),  # type: ignore[misc] # mypy: defaults
                )
            except StaleRevisionError as stale:  # another process was quicker; these are additions, so go on
                base = stale.details["found"]
            else:
                self.heed(events)
                return

    # -- commands ----------------------------------------------------------------------------------

    async def trigger(self, name: str, request: str | None) -> str:
        """Ask for a run; its key."""
        request = request or uuid4().hex
        return f"{await self._command(name, RunNow(request))}!{request}"

    async def pause(self, name: str) -> None:
        """Pause a job."""
        await self._command(name, Pause())

    async def resume(self, name: str) -> None:
        """Resume a job."""
        await self._command(name, Resume())

    async def cancel(self, run_key: str) -> None:
        """Ask a run to end."""
        job = run_key[: max(run_key.rfind("@"), run_key.rfind("!"), 0)]
        try:
            await self._update(job, Cancel(run_key))
        except JobNotFoundError:
            raise CommandRefusedError(run_key, "no such run is open") from None

    async def _command(self, name: str, command: Command) -> str:
        key = (await self._view(name)).key
        await self._update(key, command)
        return key

    async def _update(self, key: str, command: Command) -> None:
        store = await self.store()
        now = await store.now()
        decision = await store.update(key, lambda r: plan_command(r, command, now))
        self.heed(decision.events)

    # -- questions ---------------------------------------------------------------------------------

    async def _view(self, name: str) -> JobView:
        """A job by its name, whether it is in the code or was added."""
        keys = frozenset({f"{self.name}/{name}", f"{self.added}/{name}"})
        views = await (await self.store()).jobs(JobQuery(keys=keys))
        if not views:
            raise JobNotFoundError(name)
        return views[0]

    async def views(self, *sources: str) -> list[JobView]:
        """All jobs of the application, or of some of its sources."""
        found: list[JobView] = []
        for source in sources or (self.name, self.added):
            after = ""
            while page := await (await self.store()).jobs(JobQuery(source=source, after=after, limit=_PAGE)):
                found += page
                after = page[-1].key
        return found

    async def history(self, name: str | None, limit: int) -> Sequence[Attempt]:
        """The latest attempts."""
        job = None if name is None else (await self._view(name)).key
        return await (await self.store()).runs(RunQuery(job=job, limit=limit))

    async def log(self, attempt: Attempt) -> str:
        """What an attempt wrote."""
        output = await (await self.store()).output(*attempt.key)
        return output.text if output else ""

    async def why(self, name: str, at: datetime | None, kinds: frozenset[str]) -> Why:
        """What is to be said about a job, at an instant."""
        view, store = await self._view(name), await self.store()
        since = None if at is None else look_back(at)
        runs = await store.runs(RunQuery(job=view.key, since=since, limit=_MOST_RUNS)) if at else ()
        skips = await store.skips(view.key) if at else ()
        revision, now = await store.revision(view.key.partition("/")[0]), await store.now()
        return foresee(view, runs, skips, kinds=kinds, now=now, at=at, revision=revision)


def _heed_not(_: Sequence[Event]) -> None:
    """No engine runs here: another process finds what has changed by looking."""
