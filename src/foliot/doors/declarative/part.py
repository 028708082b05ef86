"""The tasks of one `initialize`, as a part of an engine's run: declared before it, and shared during it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from foliot.app.declaration import bury_dead_nodes
from foliot.app.part import Workplace
from foliot.doors.declarative.errors import TaskTryDeserializeError
from foliot.doors.declarative.registration import Callback, Plan
from foliot.doors.declarative.task import sound
from foliot.engine.convergence import Declared
from foliot.engine.reconciler import Declarer
from foliot.engine.settings import Settings
from foliot.engine.store_clock import StoreClock
from foliot.errors import StoreError
from foliot.executors.place import ExecutorPlace
from foliot.executors.python import JobRun, describe
from foliot.model.state import Node
from foliot.protocols import Executor
from foliot.wiring import FullStore, make_executor

_HERD = 100_000  # tasks from which on the garbage collector would notice them


class TasksPart:
    """What was registered, on the store of a scheduler. Callbacks run on the given loop."""

    def __init__(
        self,
        namespace: str,
        identifier: str,
        plan: Plan,
        settings: Settings,
        callbacks_loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._namespace = namespace
        self._identifier = identifier
        self._plan = plan
        self._settings = settings
        self._callbacks_loop = callbacks_loop
        self._place: Workplace | None = None
        self._node: str | None = None  # has joined, until the engine takes it over
        self._declarer: Declarer | None = None
        self._is_sparing = False

    @property
    def step(self) -> str:
        """What is being done before the engine begins, for an error to name."""
        if self._declarer is None:
            return "opening the store"
        is_writing = self._declarer.is_writing
        return "applying the registrations" if is_writing else "reading the persisted tasks"

    def take_id(self) -> str:
        """An id for the engine: the one that has joined already, or a fresh one."""
        node, self._node = self._node, None
        return node or f"{self._identifier}.{uuid4().hex}"

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """Make the store agree with the registrations, in one atomic step."""
        self._place, store, plan = host, host.store, self._plan
        store_clock = StoreClock(host.clock, self._settings.longest_gap)
        # A node joins before it declares its tasks: so no other node drops them meanwhile.
        self._node = self.take_id()
        node = Node(self._node, self._identifier, tuple(self._settings.slots), plan.mark)
        asked_at = host.clock.monotonic()
        store_clock.take(await store.join(node), asked_at)
        can_bury = await self._let_renew(host, self._node, store_clock)
        declared = Declared(self._namespace, plan.mark, plan.jobs)
        self._declarer = Declarer(store, lambda: declared, lambda view: sound(view, self._namespace).job)
        if can_bury:  # a dead node keeps no tasks
            # By the time as reckoned: a jump of the store's clock while others could renew buries no node.
            host.handle_events(await bury_dead_nodes(store, store_clock.now()))
        host.handle_events(await self._declarer.declare())
        if not plan.jobs:
            await self.close()  # there is nothing to look after
        functions = dict.fromkeys(plan.mark, describe(_dispatcher(plan.callbacks)))
        self._spare_the_collector()
        place = ExecutorPlace(host.clock, host.lease, self._callbacks_loop, functions)
        return dict.fromkeys(functions, make_executor("python", place))

    async def _let_renew(self, host: Workplace, node: str, store_clock: StoreClock) -> bool:
        """Wait until a lease that has run out proves its node dead; False: no lease has run out.

        At a start it is not known for how long the store was away for other nodes, or whether its clock was
        set. Where only leases tell of a death, living nodes may need time to renew theirs.
        """
        store, settings = host.store, self._settings
        if store.traits.proves_deaths:
            return True
        while await _has_silent_node(store):
            wait = store_clock.time_to_steady(settings.patience)
            if not wait:
                return True
            await host.clock.wait(min(wait, settings.pause))
            asked_at = host.clock.monotonic()
            store_clock.take(await store.renew(node), asked_at)
        return False

    def _spare_the_collector(self) -> None:
        """A herd's callbacks live as long as this; to look at all of them each second takes a fifth of it.

        Whatever else is alive now is not looked at either, until the scheduler stops.
        """
        if len(self._plan.callbacks) >= _HERD:
            gc.collect()
            gc.freeze()
            self._is_sparing = True

    async def live(self) -> None:
        """When nodes with other lists come or go, drop tasks that no list has, and share the rest anew."""
        assert self._place is not None and self._declarer is not None  # noqa: S101, PT018 - since `begin`
        while True:
            await self._place.clock.wait(self._place.lease)
            with suppress(StoreError, TaskTryDeserializeError):  # told elsewhere; the next look may do better
                if events := await self._declarer.look_again():
                    self._place.handle_events(events)

    async def close(self) -> None:
        """Leave the store, if the engine has not: a start that fails, or without tasks, leaves no node."""
        node, self._node = self._node, None
        if node is not None and self._place is not None:
            with suppress(StoreError):  # its lease runs out by itself
                await self._place.store.leave(node)
        if self._is_sparing:
            gc.unfreeze()
            self._is_sparing = False

    def title(self, job: str) -> None:
        """The document has events for its tasks; the log tells only what goes wrong."""


async def _has_silent_node(store: FullStore) -> bool:
    now = await store.now()
    return any(view.until < now for view in await store.nodes())


def _dispatcher(callbacks: Mapping[str, Callback]) -> Callable[[JobRun], Coroutine[Any, Any, None]]:
    async def dispatch(run: JobRun, **_: object) -> None:
        await callbacks[run.job]()

    return dispatch
