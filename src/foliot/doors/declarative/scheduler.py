"""`Scheduler`: two methods, and the states of the document around them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, NoReturn
from uuid import uuid4

from foliot.app.supervision import tell_listener
from foliot.clock import SystemClock
from foliot.doors.declarative.errors import (
    SchedulerAlreadyActiveError,
    SchedulerInitializationError,
    TaskTryDeserializeError,
)
from foliot.doors.declarative.event import (
    PollingStarted,
    PollingStopped,
    PollingStopRequested,
    SchedulerEvent,
    SchedulerInitializationCompleted,
    SchedulerInitializationFailed,
    SchedulerInitializationStarted,
    SchedulerStopped,
    SchedulerStopRequested,
    Translator,
)
from foliot.doors.declarative.polling import Polling, StoreHandle
from foliot.doors.declarative.registration import (
    Plan,
    Registration,
    check_namespace,
    read_registrations,
)
from foliot.engine.listeners import check_monitor, is_meant_as_monitor
from foliot.errors import FoliotError, InvalidJobError
from foliot.model.decision import Event
from foliot.observability.log import tell as log
from foliot.protocols import Clock, Listener
from foliot.wiring import FullStore

SchedulerListener = Callable[[SchedulerEvent], None]


class SchedulerState(StrEnum):
    """Where a scheduler stands."""

    UNINITIALIZED = "uninitialized"
    INITIALIZING = "initializing"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


_ALIVE = (SchedulerState.INITIALIZING, SchedulerState.RUNNING, SchedulerState.STOPPING)


class PollingState(StrEnum):
    """Whether tasks are looked after."""

    INACTIVE = "inactive"
    ACTIVE = "active"
    STOPPING = "stopping"


class Scheduler:
    """Keeps the tasks of a namespace on schedule, from `initialize` to `stop`.

    `store` is a URL, or a store that is open. `listeners` are called with each event of this scheduler, on
    the loop that `initialize` was called on; one that cannot be called is a `protocols.Listener`, and is told
    what the engine does, on the engine's loop. Its state shows in events, in errors, and in `repr`.
    """

    def __init__(
        self,
        store: str | FullStore,
        *,
        listeners: Sequence[SchedulerListener | Listener] = (),
        namespace: str = "declarative",
        clock: Clock | None = None,
    ) -> None:
        check_namespace(namespace)
        self._namespace = namespace
        self._clock = clock or SystemClock()
        self._home = StoreHandle(store, self._clock)
        self._has_thread = self._home.is_own and clock is None
        _check_listeners(listeners)
        self._listeners = [entry for entry in listeners if callable(entry)]
        self._engine_listeners = [entry for entry in listeners if not callable(entry)]
        self._state = SchedulerState.UNINITIALIZED
        self._polls = PollingState.INACTIVE
        self._identifier = ""
        self._polling: Polling | None = None
        self._initialized = asyncio.Event()
        self._stopping: asyncio.Future[None] | None = None
        self._calls = 0  # of `initialize`, that did not raise at once
        self._call = 0  # the one that the present state is due to

    def __repr__(self) -> str:
        shown = f"{self._state}, polling {self._polls}"
        return f"<Scheduler {self._namespace} {self._identifier or 'without identifier'}: {shown}>"

    # -- the two methods ---------------------------------------------------------------------------

    async def initialize(self, registrations: Sequence[Registration] | Sequence[Sequence[Any]]) -> None:
        """Make the tasks of the namespace exactly these, and keep them on schedule.

        Whatever is wrong with them is raised before anything is stored, and before this gives way to others.
        """
        self._refuse_if_active()
        self._identifier = self._identifier or uuid4().hex[:12]
        plan = self._read(registrations)
        self._calls += 1
        call = self._calls
        while self._stopping is not None:
            await asyncio.shield(self._stopping)
            self._refuse_if_active()
        polling = self._make_polling(plan)
        self._state, self._initialized = SchedulerState.INITIALIZING, asyncio.Event()
        self._call = call
        self._tell(SchedulerInitializationStarted)
        try:
            await polling.prepare()
        except BaseException as error:  # noqa: BLE001 - a cancelled start leaves nothing behind, either
            await self._fail(polling, error)
        else:
            self._start(polling, plan)
        finally:
            self._initialized.set()

    async def stop(self) -> None:
        """Start nothing more, and return when no callback runs any more. Does nothing if nothing does.

        An `initialize` that was called before, and waits for a stop that is under way, is stopped, too.
        """
        last = self._calls
        while self._state in _ALIVE and self._call <= last:
            if self._state is SchedulerState.INITIALIZING:
                await self._initialized.wait()
                continue
            if self._stopping is None and self._polling is not None:
                self._state = SchedulerState.STOPPING
                self._tell(SchedulerStopRequested)
                self._stopping = asyncio.ensure_future(self._stop(self._polling))
            if self._stopping is not None:
                await asyncio.shield(self._stopping)  # whoever stops waiting does not stop the stop

    # -- steps -------------------------------------------------------------------------------------

    def _refuse_if_active(self) -> None:
        if self._state in (SchedulerState.INITIALIZING, SchedulerState.RUNNING):
            raise SchedulerAlreadyActiveError(self._state.value)

    def _read(self, registrations: object) -> Plan:
        try:
            return read_registrations(registrations, self._namespace, self._clock.now())
        except FoliotError as error:
            self._tell(SchedulerInitializationStarted)
            self._tell(SchedulerInitializationFailed, error=error)
            raise

    def _make_polling(self, plan: Plan) -> Polling:
        translator = Translator(self._identifier, self._namespace, plan.escaped)

        def tell(events: Sequence[Event]) -> None:
            if self._listeners:  # a million events that nobody hears need not be made
                for event in translator.translate(events):
                    self._pass_on(event)

        return Polling(
            self._home,
            self._namespace,
            self._clock,
            self._identifier,
            plan,
            has_thread=self._has_thread,
            tell=tell,
            listeners=self._engine_listeners,
        )

    def _start(self, polling: Polling, plan: Plan) -> None:
        """Nothing is awaited here: no task starts before the scheduler says that it is running."""
        self._polling, self._state = polling, SchedulerState.RUNNING
        if plan.callbacks:
            self._polls = PollingState.ACTIVE
            polling.begin()
            self._tell(PollingStarted)
        self._tell(SchedulerInitializationCompleted)

    async def _fail(self, polling: Polling, error: BaseException) -> NoReturn:
        is_told = isinstance(error, TaskTryDeserializeError) or not isinstance(error, Exception)
        failure = error if is_told else SchedulerInitializationError(polling.step, error)
        try:
            await polling.close()
        finally:
            self._state = SchedulerState.UNINITIALIZED
            self._tell(SchedulerInitializationFailed, error=failure)
        if failure is error:
            raise error
        raise failure from error

    async def _stop(self, polling: Polling) -> None:
        try:
            if self._polls is PollingState.ACTIVE:
                self._polls = PollingState.STOPPING
                self._tell(PollingStopRequested)
                await polling.end()
            else:
                await polling.close()
        except Exception as error:  # noqa: BLE001 - polling is cleaned up whatever happens
            log("engine_failed", error, app=self._namespace, error=str(error))
        finally:
            if self._polls is PollingState.STOPPING:
                self._polls = PollingState.INACTIVE
                self._tell(PollingStopped)
            self._state, self._polling, self._stopping = SchedulerState.STOPPED, None, None
            self._tell(SchedulerStopped)

    # -- events ------------------------------------------------------------------------------------

    def _tell(self, kind: type[SchedulerEvent], **facts: object) -> None:
        self._pass_on(kind(scheduler=self._identifier, at=self._clock.now(), **facts))

    def _pass_on(self, event: SchedulerEvent) -> None:
        for listener in self._listeners:
            tell_listener(listener, partial(listener, event))


def _check_listeners(listeners: object) -> None:
    """Refuse an invalid listener before the first event."""
    given = listeners if isinstance(listeners, list | tuple) else [listeners]
    for entry in given:
        is_plain = callable(entry) and not inspect.iscoroutinefunction(entry)
        if given is not listeners or not (is_plain or isinstance(entry, Listener)):
            hint = "listeners=[a plain function that takes an event, …]"
            raise InvalidJobError("listeners", entry, "cannot be told of events", hint=hint)
        if is_meant_as_monitor(entry):
            check_monitor(entry, "listeners")
