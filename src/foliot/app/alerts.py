"""An application's work for alerts: it delivers for its channels, and checks jobs that no node serves.

    AlertsPart ── a Delivery for each channel (delivery.py) ── runs of foliot.alerts/<channel>

Only nodes that have a channel claim the runs of its job. A node without the channel's secret leaves them to
other nodes until it has the secret. Starts of runs are pinged from here directly, because a late ping is
useless.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count

from foliot.alerts.channel import Channel, Pinged
from foliot.app.delivery import Delivery, declare_deliveries, delivery_job, key_of, kind_of
from foliot.app.part import Part, Workplace
from foliot.engine.plan_command import Look, RunNow, plan_command
from foliot.errors import CommandRefusedError, InvalidPolicyError, JobNotFoundError, StoreError
from foliot.model.decision import Decision, Event
from foliot.model.events import HERDS, parts_of
from foliot.model.policy import Notify
from foliot.model.query import JobOrder
from foliot.model.state import Record
from foliot.model.view import AlertHealth
from foliot.observability.log import tell
from foliot.protocols import Executor, JobQuery, JobView

_POLL = timedelta(seconds=2)
_TURNS_OF_A_LOOK = 5
_OVERDUE = timedelta(seconds=30)
_PAGE, _MOST_PAGES = 500, 20
_WAITING = "alerts wait to be sent"
_MOST_COUNTED = 500  # alerts per look; more would delay the store's other work
_PINGS_AT_ONCE = 20
_PING_WAITS = 10.0  # seconds after which the ping of a start is useless


def check_channels(given: object) -> None:
    """Raise an error if this is not a mapping of names to channels."""
    if not isinstance(given, Mapping):
        hint = 'such as channels={"ops": Webhook("env:OPS_WEBHOOK")}'
        raise InvalidPolicyError("channels", given, "must be channels by name", hint=hint)
    Notify(given)
    for name, channel in given.items():
        lacks = [word for word in ("send", "missing", "describe", "rate") if not hasattr(channel, word)]
        if lacks:
            hint = f"it has no `{lacks[0]}`: see foliot.alerts.channel.Channel"
            raise InvalidPolicyError(f"channels.{name}", channel, "is no channel", hint=hint)


class AlertsPart:
    """Gives the delivery jobs of channels to an engine, and requests their runs."""

    def __init__(self, channels: Mapping[str, Channel], poll: timedelta = _POLL) -> None:
        self._channels = dict(channels)
        self._poll = poll
        self._deliveries: dict[str, Delivery] = {}
        self._unusable: dict[str, Channel] = {}
        self._host: Workplace | None = None
        self._pings: set[asyncio.Task[None]] = set()
        self._place = asyncio.Semaphore(_PINGS_AT_ONCE)

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """Declare a job for each channel. Channels without their secret here are left to other nodes."""
        self._host, self._deliveries = host, {}
        await self._take(self._channels)
        return {kind_of(name): delivery for name, delivery in self._deliveries.items()}

    async def offer(self, channels: Mapping[str, Channel]) -> None:
        """Deliver for these channels, too. A known channel is replaced."""
        await self._take(channels)
        self._learn()

    async def _take(self, channels: Mapping[str, Channel]) -> None:
        await declare_deliveries(self._there.store, [delivery_job(name) for name in channels])
        self._channels.update(channels)
        for name, channel in channels.items():
            if name in self._deliveries:
                self._deliveries[name].channel = channel
            elif (missing := channel.missing()) is not None:
                self._unusable[name] = channel
                tell("channel_unusable", channel=name, missing=missing)
            else:
                self._add(name, channel)

    def _add(self, name: str, channel: Channel) -> None:
        host = self._there
        self._unusable.pop(name, None)
        self._deliveries[name] = Delivery(
            name, channel, host.store, lambda settled: host.watch(AlertHealth(settled=settled))
        )

    def _learn(self) -> None:
        self._there.learn({kind_of(name): delivery for name, delivery in self._deliveries.items()})

    @property
    def _there(self) -> Workplace:
        assert self._host is not None  # noqa: S101 - `begin` was called
        return self._host

    # -- while the engine works --------------------------------------------------------------------

    async def live(self) -> None:
        """Request a run for each channel with waiting alerts, and check jobs that no node serves."""
        host = self._there
        for turn in count():
            with suppress(StoreError):  # the engine reports a store that does not answer
                await self._turn(host, is_long=turn % _TURNS_OF_A_LOOK == 0)
            await host.clock.wait(self._poll)

    async def _turn(self, host: Workplace, *, is_long: bool) -> None:
        if is_long:
            self._use_what_is_there_now()
        if self._deliveries:
            await self._ask_for_runs(host)
            if is_long:
                await self._look_at_overdue(host)
                await self._count_waiting(host)

    def _use_what_is_there_now(self) -> None:
        """Use channels whose secret has appeared since the start."""
        found = {name: channel for name, channel in self._unusable.items() if channel.missing() is None}
        for name, channel in found.items():
            self._add(name, channel)
        if found:
            self._learn()

    async def _ask_for_runs(self, host: Workplace) -> None:
        waiting = await host.store.waiting_channels()
        for channel in [name for name in self._deliveries if name in waiting]:
            now = await host.store.now()
            if now < self._deliveries[channel].not_before:
                continue

            def ask(record: Record, now: datetime = now) -> Decision:
                state, watch = record.state, record.state.watch
                is_muted = watch is not None and watch.is_muted(now)
                if record.attempts or state.removed_at is not None or is_muted:
                    return Decision(state)
                # The token grows with each decision, so no two requests have the same name.
                return plan_command(record, RunNow(f"alerts-{state.token}", _WAITING), now)

            with suppress(JobNotFoundError):
                host.handle_events((await host.store.update(key_of(channel), ask)).events)

    async def _look_at_overdue(self, host: Workplace) -> None:
        """Check overdue jobs that no node serves: they are late, too. Reads a limited number of pages."""
        now = await host.store.now()
        query = JobQuery(order=JobOrder.SOONEST, limit=_PAGE)
        for _ in range(_MOST_PAGES):
            page = await host.store.jobs(query)
            overdue = [view for view in page if _wakes_before(view, now - _OVERDUE)]
            for view in overdue:
                if view.record is not None and view.record.state.watch is not None:
                    with suppress(JobNotFoundError, CommandRefusedError):
                        await host.store.update(view.key, lambda record: plan_command(record, Look(), now))
            if page.next is None or len(overdue) < len(page):
                return
            query = query._replace(after=page.next)

    async def _count_waiting(self, host: Workplace) -> None:
        channels = set(await host.store.waiting_channels())
        waiting = {
            name: len(await host.store.waiting(name, _MOST_COUNTED)) if name in channels else 0
            for name in self._deliveries
        }
        host.watch(AlertHealth(waiting=waiting))

    # -- starts are pinged -------------------------------------------------------------------------

    def on_events(self, events: Sequence[Event]) -> None:
        """Ping the starts of runs, without waiting for it."""
        for part in parts_of(events):
            if isinstance(part, HERDS):  # no job has a ping
                continue
            for event in part:
                if event.ping in self._deliveries and event.run_key is not None:
                    self._ping(self._deliveries[event.ping].channel, event.run_key, event.number)

    def on_trouble(self, error: StoreError) -> None:
        """The engine tells of it."""

    def _ping(self, channel: Channel, run: str, number: int) -> None:
        if isinstance(channel, Pinged):
            task = asyncio.ensure_future(self._ping_start(channel, run, number))
            self._pings.add(task)
            task.add_done_callback(self._pings.discard)

    async def _ping_start(self, channel: Pinged, run: str, number: int) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_PING_WAITS):
                await self._place.acquire()
            try:
                await channel.ping_start(run, number)
            finally:
                self._place.release()

    async def close(self) -> None:
        """Drop pings that were not sent yet."""
        for task in self._pings:
            task.cancel()

    def title(self, job: str) -> None:
        """Runs of deliveries are not logged one by one."""


def _wakes_before(view: JobView, at: datetime) -> bool:
    wake_at = view.record.state.wake_at if view.record is not None else None
    return wake_at is not None and wake_at < at


def alert_parts(channels: Mapping[str, Channel]) -> list[Part]:
    """The parts of an application with these channels."""
    return [AlertsPart(channels)] if channels else []
