"""Maintenance of a node: declare dead nodes dead, recover their attempts, and delete old history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from foliot.engine.listeners import Listeners
from foliot.engine.planner import plan_lost
from foliot.engine.settings import Settings
from foliot.engine.store_clock import StoreClock
from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.decision import Event
from foliot.protocols import Clock, Store

_AT_ONCE = timedelta(0)
_BETWEEN_PRUNES = timedelta(milliseconds=50)


class Housekeeper:
    """Each method returns how long to wait for its next turn.

    `wakes` is set when a job may be due at once.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what it works with, all of it the engine's
        self,
        store: Store,
        clock: Clock,
        settings: Settings,
        store_clock: StoreClock,
        listeners: Listeners,
        tell: Callable[[Sequence[Event]], None],
        wakes: asyncio.Event,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._store_clock = store_clock
        self._listeners = listeners
        self._tell = tell
        self._wakes = wakes
        self.node = ""  # the engine's

    async def recover(self) -> timedelta:
        """Declare silent nodes dead, and recover their attempts.

        After a gap in the store's answers, wait first: other nodes may only now be able to renew.
        """
        if not self._store_clock.is_steady(self._settings.patience):
            return self._store_clock.time_to_steady(self._settings.patience)
        recovered = await self._store.recover(
            self._settings.recover_at_once, self._store_clock.now(), plan_lost
        )
        self._listeners.tell_burials(self.node, recovered.buried)
        if recovered.events:
            self._tell(recovered.events)
            self._wakes.set()
        return _AT_ONCE if recovered.more else self._settings.recover

    async def prune(self) -> timedelta:
        """Delete old history in batches.

        After each batch pause for twice its time, because other nodes write, too.
        """
        began = self._clock.monotonic()
        try:
            pruned = await self._store.prune(self._store_clock.now(), self._settings.forget_at_once)
        except StoreUnavailableError:
            raise
        except StoreError as error:  # a damaged row of the history must not stop the engine
            self._listeners.tell_trouble(error)
            return self._settings.prune
        if not pruned.more:
            return self._settings.prune
        return max(_BETWEEN_PRUNES, 2 * timedelta(seconds=self._clock.monotonic() - began))
