"""The engine of one node: it joins the store, claims due jobs, runs them, reports results, and leaves.

    wake ──▶ claim (the store decides, with the planner) ──▶ start ──▶ wait
                                                               … ends ──▶ finish (beside it, so neither waits)
                                                                           heartbeat · recover · prune, too

All time is the store's time (see `store_clock`). A node that is not sure of its lease starts nothing. A node
that was declared dead ("buried") ends its runs and joins again under a new id.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from foliot.engine.correction import Correction
from foliot.engine.fitness import Fitness
from foliot.engine.health import measure_health
from foliot.engine.housekeeper import Housekeeper
from foliot.engine.listeners import Listeners
from foliot.engine.loop import run_beside, run_until_stopped, soon_after, unless
from foliot.engine.planner import plan_due, plan_ended
from foliot.engine.runner import Runner
from foliot.engine.settings import Settings
from foliot.engine.shutdown import Shutdown
from foliot.engine.store_clock import StoreClock
from foliot.errors import NodeBuriedError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.decision import Event, Happening
from foliot.model.events import HERDS, parts_of
from foliot.model.state import Lease, Node
from foliot.protocols import Claimed, Clock, Executor, Listener, Monitor, Notifier, OutputStore, Store
from foliot.protocols_health import MeasuredStore

_AT_ONCE = timedelta(0)
_GATHER = timedelta(milliseconds=5)
_BETWEEN_HINTS = timedelta(milliseconds=50)


class Engine:
    """Runs the jobs of a store, together with any number of other engines."""

    def __init__(  # noqa: PLR0913 - everything that is not the engine's own is injected here
        self,
        store: Store,
        executors: Mapping[str, Executor],
        *,
        clock: Clock,
        settings: Settings,
        new_id: Callable[[], str],
        name: str = "",
        listeners: Sequence[Listener] = (),
        monitors: Sequence[Monitor] = (),
        outputs: OutputStore | None = None,
        hints: Notifier | None = None,
        version: str = "",
        failpoint: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._outputs = outputs
        self._hints = hints
        self._version = version
        self._clock = clock
        self._settings = settings
        self._new_id = new_id
        self._name = name
        self._executors = executors
        self._kinds = tuple(sorted(executors))
        self._listeners = Listeners(listeners, monitors)
        self._fitness = Fitness(executors)
        self._passed: frozenset[str] = frozenset()  # kinds of the jobs that the last claim passed over
        self._failpoint = failpoint
        self._stopping, self._over = asyncio.Event(), asyncio.Event()
        self._woken, self._ended, self._hinted = asyncio.Event(), asyncio.Event(), asyncio.Event()
        # If the store can prove deaths, a new node need not wait before it recovers runs of its program.
        is_steady = store.traits.proves_deaths
        self._store_clock = time = StoreClock(clock, settings.longest_gap, is_steady_at_first=is_steady)
        self.now = time.now
        self._correction = Correction(store, time, settings.recover, self.handle_events, self._woken)
        self._upkeep = Housekeeper(
            store, clock, settings, time, self._listeners, self.handle_events, self._woken
        )
        self._runner = Runner(executors, clock, self.now, self._on_ended)
        self.open_runs = self._runner.open_runs  # the keys of what runs here; on any thread
        self.node = ""
        calls = {"finish": self._finish, "leave": lambda: store.leave(self.node)}
        self._shutdown = Shutdown(self._runner, clock, settings, self._listeners, calls)
        self._is_claiming = self._is_full = False
        self.rests_until = 0.0  # when it claims again, by the monotonic clock; 0: now. On any thread
        self._has_learned = False
        self._in_vain = 0  # claims in a row that returned nothing although jobs were due
        self._rising = asyncio.Lock()

    # -- a node's life -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Run until stopped. Raises every error except that the store does not answer."""
        if not await self._join():
            return
        self._store_clock.take_jump()  # the first answer is no jump
        beside = [self._report, self._beat, self._upkeep.recover, self._upkeep.prune, self._correction.turn]
        beside += [self._runner.deadlines.turn]
        beside += [self._handle_hint] if self._hints is not None else []
        services = [self._turn(turn, self._over) for turn in beside]
        try:
            await run_beside(self._work_and_drain(), services, self._clock, self._settings.last_call)
            await self._shutdown.leave()
        except Exception:  # this node cannot continue, and other nodes will start its runs again
            self.stop()
            await self._shutdown.give_up()
            raise

    def stop(self) -> None:
        """Ask the node to claim nothing more, to let its runs end, and to leave."""
        self._shutdown.begin()
        self._stopping.set()
        self._woken.set()

    def end_now(self) -> None:
        """Ask running attempts to end now, as if the drain time were over."""
        self.stop()
        self._shutdown.end_now()

    def learn(self) -> None:
        """New executors were added: tell the store that this node can run more kinds."""
        self._kinds = tuple(sorted(self._executors))
        self._fitness.learn(self._executors)
        self._has_learned = True
        self._woken.set()

    def wake(self) -> None:
        """Wake the loop: a job may be due earlier than the loop knows."""
        self._woken.set()

    def _turn(
        self, turn: Callable[[], Awaitable[timedelta]], until: asyncio.Event
    ) -> Coroutine[Any, Any, None]:
        return run_until_stopped(turn, until, self._clock, self._listeners.tell_trouble)

    # -- the loop ----------------------------------------------------------------------------------

    async def _work(self) -> timedelta:
        """Claim due jobs, start them, and wait for more."""
        self._woken.clear()
        self.rests_until = 0.0
        if self._has_learned:
            await self._join_again()
        if self._is_full:
            await self._clock.wait(_GATHER)  # more runs may end soon; then one claim fills all free slots
        began, looked_at = self._clock.monotonic(), self.now()
        claimed = await self._claim()
        for runs in self._runner.portions(claimed.runs):
            self._failpoint("before_start")
            if not self._store_clock.is_sure:  # it was frozen: others may have its runs
                break
            self._runner.start(runs)
        self._passed = self._fitness.tell()
        self._tell_turn("claim", began)
        if claimed.runs or claimed.more:
            self._in_vain = 0
        else:
            duration = await self._time_to_next(looked_at, claimed)
            self.rests_until = self._clock.monotonic() + duration.total_seconds()
            await self._clock.wait(duration, self._woken)
        return _AT_ONCE

    async def _claim(self) -> Claimed:
        node, room = self.node, self._room()
        self._is_full = len(room) < len(self._settings.slots)
        if not room or not self._store_clock.is_sure:
            return Claimed()
        self._is_claiming = True
        try:
            claimed = await self._ask_until_answered(node, room, self._new_id())
        except NodeBuriedError:
            await self._rejoin(node)
            return Claimed()
        finally:
            self._is_claiming = False
        self._failpoint("claimed")
        self.handle_events(claimed.events)
        # If the lease has expired since the claim, other nodes may restart these attempts: do not start them.
        return claimed if node == self.node and self._store_clock.is_sure else Claimed()

    async def _ask_until_answered(self, node: str, room: Mapping[str, int], claim_id: str) -> Claimed:
        """Repeat a claim until the store answers: the lost answer may contain attempts for this node."""
        while self._store_clock.is_sure:
            try:
                return await self._store.claim(
                    node, self.now(), room, self._fitness.guard(plan_due), claim_id, self._settings.groups
                )
            except StoreUnavailableError as error:
                self._listeners.tell_trouble(error)
                await self._clock.wait(self._settings.pause, self._stopping)
            # If it stops, its attempts are ended later as unknown ones, or are lost when this node leaves.
            if self._stopping.is_set():
                break
        return Claimed()

    def _room(self) -> dict[str, int]:
        """The queues with free slots, and how many."""
        most = self._settings.claim
        free = {queue: slots - self._runner.busy(queue) for queue, slots in self._settings.slots.items()}
        return {queue: min(count, most) for queue, count in free.items() if count > 0}

    async def _time_to_next(self, looked_at: datetime, claimed: Claimed) -> timedelta:
        """The time to the next claim, after one that began at `looked_at` and returned nothing.

        Jobs that were passed over are claimed after a pause. If other nodes take the due jobs, this node
        asks less and less often. A job that became due since the claim is claimed at once.
        """
        if not self._store_clock.is_sure:
            return self._settings.poll  # the next heartbeat wakes the loop
        room, kinds = self._room(), tuple(kind for kind in self._kinds if kind not in self._passed)
        longest = self._settings.pause if self._passed or claimed.waits else self._settings.poll
        after = looked_at if claimed.waits else None  # who waits for its group must not hide later jobs
        next_at = (await self._store.wakes(room, kinds, after=after)).first if room and kinds else None
        if next_at is None:
            return longest
        if next_at > looked_at:
            self._in_vain = 0
            return min(max(next_at - self.now(), _AT_ONCE), longest)
        self._in_vain += 1
        return min(_GATHER * (1 << min(self._in_vain, 8)), self._settings.pause)

    async def _report(self) -> timedelta:
        """Report all ended attempts in one call, and wait for more."""
        self._ended.clear()
        await self._finish()
        if not self._ended.is_set():
            await self._clock.wait(self._settings.poll, self._ended)
        return _AT_ONCE

    async def _finish(self) -> None:
        """Store results. Results that the store does not accept now are kept for the next call."""
        node, report = self.node, self._runner.take_report()
        if not report.endings:
            return
        began = self._clock.monotonic()
        self._failpoint("before_finish")
        try:
            if report.outputs and self._outputs is not None:
                await self._outputs.write_outputs(report.outputs)
            finished = await self._store.finish(node, report.endings, self.now(), plan_ended)
        except (StoreUnavailableError, asyncio.CancelledError):
            if node == self.node:
                self._runner.give_back(report)
            raise
        except NodeBuriedError:
            await self._rejoin(node)
            return
        self._runner.settle()
        self._failpoint("finished")
        self.handle_events(finished.events)
        self._tell_turn("report", began)
        self._woken.set()  # a run that waited for these may be due now

    # -- beside the loop ---------------------------------------------------------------------------

    async def _join(self) -> bool:
        """Join the store with a new id and a lease. A node that is stopping does not wait for the store."""
        while True:
            self.node = self._upkeep.node = self._new_id()
            try:
                asked_at, join = self._clock.monotonic(), self._store.join(self._introduce())
                lease = await soon_after(self._stopping, join, self._clock, self._settings.last_call)
            except (StoreUnavailableError, NodeBuriedError) as error:
                self._listeners.tell_trouble(error)
                await self._clock.wait(self._settings.pause, self._stopping)
            else:
                if lease is not None:
                    self._take(lease, asked_at)
                    return True
            if self._stopping.is_set():
                return False

    async def _join_again(self) -> None:
        """Join again under the same id, to announce new kinds or a new state."""
        node, asked_at = self.node, self._clock.monotonic()
        self._has_learned = False
        try:
            lease = await self._store.join(self._introduce())
        except NodeBuriedError:
            await self._rejoin(node)
        except StoreUnavailableError:
            self._has_learned = True
            raise
        else:
            self._take(lease, asked_at)

    def _introduce(self) -> Node:
        queues, skew = tuple(sorted(self._settings.slots)), self._store_clock.skew
        place = socket.gethostname(), os.getpid(), self._stopping.is_set()
        counts = (tuple(sorted(counts.items())) for counts in (self._settings.groups, self._settings.slots))
        return Node(self.node, self._name, queues, self._kinds, self._version, skew, *place, *counts)

    async def _handle_hint(self) -> timedelta:
        """The store may have changed: look now for work and for cancel requests."""
        assert self._hints is not None  # noqa: S101 - else this does not run
        await unless(self._over, self._hints.changed())
        self._woken.set()
        self._hinted.set()
        return _BETWEEN_HINTS  # one check for any number of hints

    async def _beat(self) -> timedelta:
        """Renew the lease. End attempts with a cancel request, and attempts that only the store knows."""
        self._hinted.clear()
        asked_at = self._clock.monotonic()
        node, is_quiet = self.node, not self._is_claiming
        try:
            is_draining = self._stopping.is_set()  # joining again renews, and announces it
            lease = await (self._store.join(self._introduce()) if is_draining else self._store.renew(node))
            if node == self.node:
                self._take(lease, asked_at)
                for key in lease.cancels:
                    self._runner.end(key, Outcome.CANCELLED)
                if is_quiet and not self._is_claiming and lease.open_count != self._runner.count:
                    await self._end_unknown_attempts(node)
                await self._tell_health()
                self._store_clock.note_answer()
        except NodeBuriedError:
            await self._rejoin(node)
        began = self._clock.monotonic()
        await self._clock.wait(
            min(self._settings.pause, self._settings.beat), self._over
        )  # one check for any number of hints
        if self._store_clock.is_sure:  # otherwise the host was suspended, and the next heartbeat is due
            waited = timedelta(seconds=self._clock.monotonic() - began)
            await self._clock.wait(self._settings.beat - waited, self._hinted)
        return _AT_ONCE

    async def _end_unknown_attempts(self, node: str) -> None:
        """End attempts of this node that only the store knows: they will never run."""
        held = await self._store.held(node)
        if self._is_claiming or node != self.node:
            return
        if unknown := self._runner.endings_of_unknown(held):
            finished = await self._store.finish(node, unknown, self.now(), plan_ended)
            self.handle_events(finished.events)
            self._woken.set()

    async def _rejoin(self, dead: str) -> None:
        """This node was declared dead, so its runs belong to other nodes. End them, and join again."""
        async with self._rising:
            if dead == self.node:
                self._listeners.tell_lease_lost(dead)
                await self._runner.abandon(self._settings.grace)
                await self._join()

    async def _work_and_drain(self) -> None:
        """Work until stopped; then drain.

        During the drain the lease is renewed and results are reported, so draining runs are not lost.
        """
        work = self._turn(self._work, self._stopping)
        await soon_after(self._stopping, work, self._clock, self._settings.last_turn)
        await self._shutdown.drain()
        self._over.set()
        self._ended.set()
        self._hinted.set()
        self._runner.deadlines.wake()

    # -- time and trouble --------------------------------------------------------------------------

    def _take(self, lease: Lease, asked_at: float) -> None:
        was_sure = self._store_clock.is_sure
        if self._store_clock.take(lease, asked_at) or not was_sure:
            self._woken.set()  # the loop computed its wait with the old time
        if self._store_clock.notes_skew():
            self._has_learned = True
            self._woken.set()  # other nodes see the skew in the node list

    def handle_events(self, events: Sequence[Event]) -> None:
        """Pass events to the listeners, and end this node's own attempts at once if they are cancelled."""
        for event in chain.from_iterable(part for part in parts_of(events) if not isinstance(part, HERDS)):
            if event.what is Happening.CANCEL_ASKED and event.run_key is not None:
                self._runner.end((event.run_key, event.number), Outcome.CANCELLED)
        self._listeners.tell_events(events)

    def _tell_turn(self, what: str, began: float) -> None:
        took = timedelta(seconds=self._clock.monotonic() - began)
        self._listeners.tell_turn(what, took, self._runner.count)

    async def _tell_health(self) -> None:
        if self._listeners.wants_health:
            served = tuple(self._settings.slots), self._kinds
            health = await measure_health(self.node, self._store, *served, self._store_clock, self._clock)
            self._listeners.tell_health(health)
            if isinstance(self._store, MeasuredStore):
                self._listeners.tell_store(await self._store.health())

    def _on_ended(self) -> None:
        self._ended.set()
        if self._is_full:
            self._woken.set()
