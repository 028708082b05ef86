"""`CronScheduler`: enqueues the jobs of a registry's schedules when they are due."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple

from foliot.app import Foliot
from foliot.doors.beat.client import address_of, namespace_of, url_of
from foliot.doors.beat.errors import BeatError, DuplicateScheduleError
from foliot.doors.beat.executor import BeatExecutor, Desk, EnqueueWatcher
from foliot.doors.beat.history import Enqueueing, enqueueing_of
from foliot.doors.beat.log import tell_line
from foliot.doors.beat.part import BeatPart
from foliot.doors.beat.queue import Queue
from foliot.doors.beat.registry import Registry
from foliot.doors.beat.schedule import Schedule, ScheduleState, check_schedule, rule_of
from foliot.doors.beat.state import Keys, read_state
from foliot.doors.beat.translation import PREFIX, action_of, job_of, options_of, policy_of
from foliot.errors import JobNotFoundError, StoreError, shorten
from foliot.executors.place import ExecutorPlace
from foliot.model.policy import read_duration
from foliot.stores.redis.link import Link

_LONGEST_WAIT = timedelta(seconds=5)


class _Life(NamedTuple):
    """One `start`, until it returns."""

    loop: asyncio.AbstractEventLoop
    asked: asyncio.Event
    ended: asyncio.Event


class CronScheduler:
    """Keeps schedules on time, with any number of other schedulers on the same server and prefix.

    `queue`: has one method, `enqueue(job)`, plain or async. `client`: a URL, or a client of redis-py, of
    which only the address is used. `interval`: how soon what failed is tried again, and how often to look for
    what no wake-up has told. `prefix`: what all keys begin with. `lock_ttl`: when the lock of a node that
    died expires. `lease`: for how long a node that is silent counts as living. `metrics`: such as
    `BeatMetrics()`. `name`: what lists of nodes call this process.
    """

    def __init__(  # noqa: PLR0913 - the document's four, and what may be set
        self,
        registry: Registry,
        queue: Queue,
        client: Any,
        interval: timedelta | str = timedelta(seconds=1),
        *,
        prefix: str = "bananas",
        lock_ttl: timedelta | str = timedelta(seconds=60),
        lease: timedelta | str = timedelta(seconds=30),
        track: str = "enqueue",
        metrics: Any = None,
        name: str = "",
    ) -> None:
        _check(registry, queue, track)
        self._registry, self._queue = registry, queue
        self._interval = _positive("interval", interval)
        self._source = namespace_of(prefix)
        self._keys = Keys(prefix, _positive("lock_ttl", lock_ttl))
        self._policy = policy_of(self._interval)
        self._address = address_of(client)
        self._deadline = min(_LONGEST_WAIT, _positive("lease", lease) / 4)
        self._watcher = metrics if isinstance(metrics, EnqueueWatcher) else None
        self._app = Foliot(
            url_of(client, self._source),
            name=self._source,
            poll=self._interval,
            lease=lease,
            metrics=metrics,
            executors={PREFIX: self._make_executor},
            node_name=name,
            tells_failures=False,
        )
        watch = None if self._watcher is None else self._watcher.on_schedules
        self._app.attach(BeatPart((self._source, f"{self._source}.added"), watch))
        self._link: Link | None = None
        self._life: _Life | None = None
        self._is_stale = False

    # -- running -----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Run until this is cancelled, or `stop` is called: then what is being enqueued may end.

        Whatever the queue refuses at the start, or the server, is raised.
        """
        if self._life is not None:
            raise BeatError("the scheduler is running already")
        life = self._life = _Life(asyncio.get_running_loop(), asyncio.Event(), asyncio.Event())
        unwatch = self._registry.watch(self._check_by_queue, self._note_change)
        try:
            for schedule in self._registry.list():
                self._check_by_queue(schedule)
            self._declare()
            async with self._app:
                tell_line("beat_started", interval=self._interval, schedules=len(self._registry.list()))
                try:
                    await self._app.until(life.asked)
                finally:
                    tell_line("beat_stopping")
        finally:
            unwatch()
            self._close_link()
            await self._close_queue()
            self._life = None
            life.ended.set()

    async def stop(self) -> None:
        """End `start`, and return when it has ended. Without a `start`, let go of the server."""
        if self._life is None:
            await asyncio.to_thread(self._app.close)
            self._close_link()
            return
        life = self._life
        life.asked.set()
        await life.ended.wait()

    # -- one schedule ------------------------------------------------------------------------------

    async def get_state(self, id: str) -> ScheduleState:  # noqa: A002 - the field's name, here and below
        """What Redis has of a schedule's runs; for one that has never run, its id and nothing else."""
        try:
            (answer,) = await self._get_link().ask("state", [("HGETALL", self._keys.state(id))])
        except StoreError as error:
            raise BeatError(f"failed to get schedule state: {error}", hint=error.hint) from error
        return read_state(id, answer).state

    async def pause(self, id: str, *, reason: str = "") -> None:  # noqa: A002
        """Let a schedule rest until it is resumed, on all nodes; a restart does not end that."""
        with _naming(id):
            await self._app.pause(id, reason=reason)

    async def resume(self, id: str) -> None:  # noqa: A002
        """End a pause. What was missed meanwhile is not caught up."""
        with _naming(id):
            await self._app.resume(id)

    async def trigger(self, id: str) -> str:  # noqa: A002
        """Enqueue a schedule's job now, beside its schedule; the key of the run."""
        with _naming(id):
            return await self._app.trigger(id)

    async def history(self, id: str, *, limit: int = 20) -> Sequence[Enqueueing]:  # noqa: A002
        """The last tries to enqueue, the newest first, each with the id of its job."""
        with _naming(id):
            return [enqueueing_of(attempt) for attempt in await self._app.history(id, limit=limit)]

    # -- changing schedules while the program runs -------------------------------------------------

    async def add(self, schedule: Schedule) -> None:
        """Add a schedule for all nodes. It is kept in the store, and stays until it is removed."""
        check_schedule(schedule)
        self._check_by_queue(schedule)
        if self._registry.get(schedule.id) is not None or await self._is_stored(schedule.id):
            raise DuplicateScheduleError(schedule.id)
        await self._store(schedule)

    async def change(self, schedule: Schedule) -> None:
        """Put a schedule in the place of the one of its id. Occurrences count from now on.

        One that was added changes for all nodes, and stays so. One of the code changes in this registry, as
        a new release of the code would: it counts for all nodes while this scheduler runs.
        """
        check_schedule(schedule)
        self._check_by_queue(schedule)
        if self._registry.get(schedule.id) is not None:
            self._registry.replace(schedule)
            await self._declare_now()
        elif await self._is_stored(schedule.id):
            await self._store(schedule)
        else:
            raise _unknown(schedule.id)

    async def remove(self, id: str) -> None:  # noqa: A002
        """Remove a schedule. One of the code stays while another node's code has it."""
        if self._registry.get(id) is not None:
            self._registry.remove(id)
            await self._declare_now()
            return
        with _naming(id):
            await self._app.unschedule(id)
        with suppress(StoreError):  # it does no harm if it stays
            await self._get_link().ask("state", [("DEL", self._keys.state(id))])

    async def _store(self, schedule: Schedule) -> None:
        options = options_of(schedule, self._policy)
        await self._app.schedule(schedule.id, rule_of(schedule), action_of(schedule), **options)

    async def _is_stored(self, id: str) -> bool:  # noqa: A002
        try:
            await self._app.find(id)
        except JobNotFoundError:
            return False
        return True

    # -- inside ------------------------------------------------------------------------------------

    def _make_executor(self, place: ExecutorPlace) -> BeatExecutor:
        desk = Desk(self._queue, self._keys, self._get_link(), self._interval, self._watcher)
        return BeatExecutor(place, desk)

    def _check_by_queue(self, schedule: Schedule) -> None:
        """A queue may know that it could never take the job of a schedule."""
        check = getattr(self._queue, "check", None)
        if check is not None:
            check(schedule)

    def _note_change(self) -> None:
        """Something was registered, on any thread: many changes are declared once."""
        if self._life is not None and not self._is_stale:
            self._is_stale = True
            self._life.loop.call_soon_threadsafe(self._declare)

    def _declare(self) -> None:
        self._is_stale = False
        jobs = [job_of(schedule, self._source, self._policy) for schedule in self._registry.list()]
        self._app.declare_all(jobs)

    async def _declare_now(self) -> None:
        """What the registry has counts when this returns; without a `start`, when there is one."""
        if self._life is not None:
            self._declare()
            await self._app.jobs()

    def _get_link(self) -> Link:
        if self._link is None:
            self._link = Link(self._address, self._deadline)
        return self._link

    def _close_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    async def _close_queue(self) -> None:
        close = getattr(self._queue, "close", None)
        if close is not None:
            answer = await asyncio.to_thread(close) if not inspect.iscoroutinefunction(close) else close()
            if inspect.isawaitable(answer):
                await answer


def _check(registry: object, queue: object, track: object) -> None:
    if not isinstance(registry, Registry):
        raise BeatError(f"{shorten(registry)} is no Registry")
    if not callable(getattr(queue, "enqueue", None)):
        raise BeatError(f"{type(queue).__name__} is no queue", hint="give it a method enqueue(job)")
    if track != "enqueue":
        raise BeatError(
            f"track={track!r} is not known", hint='track="enqueue": a run ends when it is enqueued'
        )


def _positive(name: str, value: timedelta | str) -> timedelta:
    duration = read_duration(name, value)
    if duration <= timedelta(0):
        raise BeatError(f"{name} must be a positive duration", hint='such as "1s"')
    return duration


@contextmanager
def _naming(id: str) -> Iterator[None]:  # noqa: A002 - the field's name
    try:
        yield
    except JobNotFoundError as error:
        raise _unknown(id) from error


def _unknown(id: str) -> BeatError:  # noqa: A002 - the field's name
    return BeatError(f"schedule with ID {shorten(id)} does not exist", details={"id": id})
