"""The delivery of alerts: each channel has a job that empties its part of the outbox.

    outbox has alerts for `ops` ──▶ a run of foliot.alerts/ops ──▶ Channel.send ──▶ settled in the outbox

Only nodes that have a channel claim the runs of its job, and one run of it is open at a time. A run that
cannot send is tried again for as long as alerts wait. A node that dies after a message was sent and before
that was noted sends it again, under the same ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Protocol
from uuid import uuid4

from foliot.app.part import Part, Workplace
from foliot.engine.plan_command import Look, RunNow, plan_command
from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.errors import (
    CommandRefusedError,
    InvalidPolicyError,
    JobNotFoundError,
    StaleRevisionError,
    StoreError,
)
from foliot.executors.task import TaskExecutor
from foliot.model.alert import Alert
from foliot.model.attempt import Outcome
from foliot.model.decision import Decision
from foliot.model.job import Action, Job
from foliot.model.policy import Keep, Notify, Policy, Retry
from foliot.model.query import JobOrder
from foliot.model.state import Record
from foliot.protocols import AlertState, Changes, ChannelAlert, Executor, JobQuery, Result, Run
from foliot.schedules import Once
from foliot.wiring import FullStore

SOURCE = "foliot.alerts"
_POLL = timedelta(seconds=2)
_TURNS_OF_A_LOOK = 5
_OVERDUE = timedelta(seconds=30)
_EXPIRES = timedelta(hours=24)
_AT_ONCE = 100  # alerts of one message at most
_APART = 5  # more alerts than these, waiting together, are one message
_PAGE = 100
_NEVER = Once(datetime(1970, 1, 1, tzinfo=UTC))
# A message may take 30 seconds, and a run sends five at most.
_POLICY = Policy(
    retry=Retry(max=None, delay="5s", backoff=2, longest="10m", jitter=0.2),
    timeout=timedelta(minutes=3),
    keep=Keep(last=20, days=7),
)


class Sent(Protocol):
    """What became of a message: `fate` is "sent", "again" or "refused"."""

    @property
    def fate(self) -> str: ...
    @property
    def reason(self) -> str: ...


class Channel(Protocol):
    """A way to tell people; those of `foliot.alerts` are such."""

    async def send(self, messages: Sequence[Alert], /) -> Sent:
        """Tell one message: an alert, or a digest of several."""
        ...


def check_channels(given: object) -> None:
    """Refuse what cannot be channels by name."""
    if not isinstance(given, Mapping):
        hint = 'such as channels={"ops": Webhook("env:OPS_WEBHOOK")}'
        raise InvalidPolicyError("channels", given, "must be channels by name", hint=hint)
    Notify(given)
    for name, channel in given.items():
        if not callable(getattr(channel, "send", None)):
            raise InvalidPolicyError(f"channels.{name}", channel, "is no channel", hint="it has no `send`")


class AlertsPart:
    """Brings the delivery jobs of an application's channels to its engine, and asks for their runs."""

    def __init__(self, channels: Mapping[str, Channel]) -> None:
        self._channels = dict(channels)
        self._host: Workplace | None = None

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """Declare a job for each channel."""
        self._host = host
        await _declare(host.store, [delivery_job(name) for name in self._channels])
        return {kind_of(name): Delivery(name, self._channels[name], host.store) for name in self._channels}

    async def live(self) -> None:
        """Ask for a run where alerts wait, and look at jobs that no node looks at."""
        host = self._host
        assert host is not None  # noqa: S101 - `begin` was called
        for turn in count():
            with suppress(StoreError):  # the engine tells of a store that is away
                await self._ask_for_runs(host)
                if turn % _TURNS_OF_A_LOOK == 0:
                    await self._look_at_overdue(host)
            await host.clock.wait(_POLL)

    async def _ask_for_runs(self, host: Workplace) -> None:
        for channel in set(await host.store.waiting_channels()) & self._channels.keys():
            now = await host.store.now()
            request = RunNow(uuid4().hex, "alerts wait to be sent")

            def ask(record: Record, request: RunNow = request, now: datetime = now) -> Decision:
                is_asked_for = bool(record.attempts) or record.state.removed_at is not None
                return Decision(record.state) if is_asked_for else plan_command(record, request, now)

            with suppress(JobNotFoundError):
                host.handle_events((await host.store.update(key_of(channel), ask)).events)

    async def _look_at_overdue(self, host: Workplace) -> None:
        """A job that no node serves is late, too."""
        now = await host.store.now()
        for view in await host.store.jobs(JobQuery(order=JobOrder.SOONEST, limit=_PAGE)):
            state = view.record.state if view.record is not None else None
            is_overdue = state is not None and state.wake_at is not None and state.wake_at < now - _OVERDUE
            if is_overdue and state is not None and state.watch is not None:
                with suppress(JobNotFoundError, CommandRefusedError):
                    await host.store.update(view.key, lambda record: plan_command(record, Look(), now))

    async def close(self) -> None:
        """There is nothing to let go of."""

    def title(self, job: str) -> None:
        """Their runs are not told of in the log one by one."""


def alert_parts(channels: Mapping[str, Channel]) -> list[Part]:
    """What an application with these channels has attached to it from the beginning."""
    return [AlertsPart(channels)] if channels else []


class Delivery(TaskExecutor):
    """Sends what waits for one channel."""

    def __init__(self, name: str, channel: Channel, store: FullStore) -> None:
        super().__init__()
        self._name, self._channel, self._store = name, channel, store

    async def execute(self, run: Run) -> Result:
        """Send the oldest alerts; the next run sends what is left."""
        del run
        rows = await self._store.waiting(self._name, _AT_ONCE)
        now = await self._store.now()
        old = [one for one in rows if one.alert.at < now - _EXPIRES]
        await self._settle(old, AlertState.EXPIRED, "it has waited for a day")
        fresh = [one for one in rows if one.alert.at >= now - _EXPIRES]
        for part in [fresh] if len(fresh) > _APART else [[one] for one in fresh]:
            sent = await self._channel.send([one.alert for one in part])
            if sent.fate == "again":
                return Result(Outcome.FAILED, sent.reason or "the channel could not be reached")
            is_refused = sent.fate == "refused"
            state = AlertState.REFUSED if is_refused else AlertState.SENT
            await self._settle(part, state, sent.reason or None)
        return Result(Outcome.SUCCEEDED)

    async def _settle(self, rows: Sequence[ChannelAlert], state: AlertState, answer: str | None) -> None:
        if rows:
            ids = [one.alert.id for one in rows]
            await self._store.settle(self._name, ids, state, await self._store.now(), answer)


def kind_of(channel: str) -> str:
    """The kind of action that only nodes with the channel serve."""
    return f"alert:{channel}"


def key_of(channel: str) -> str:
    """The key of the job that delivers for a channel."""
    return f"{SOURCE}/{channel}"


def delivery_job(channel: str) -> Job:
    """The job that delivers for a channel: it has no time of its own."""
    action = Action(kind=kind_of(channel))
    return Job(source=SOURCE, name=channel, schedule=_NEVER, action=action, policy=_POLICY)


async def _declare(store: FullStore, jobs: Sequence[Job]) -> None:
    """Add those that are not there as they are here; other programs may have other channels."""
    views = await store.jobs(JobQuery(keys=frozenset(job.key for job in jobs), limit=len(jobs)))
    known = {view.key: view.record.job for view in views if view.record is not None and not view.damage}
    new = tuple(job for job in jobs if job.key not in known or not job.says_the_same(known[job.key]))
    base, now = await store.revision(SOURCE), await store.now()
    while new:
        try:
            await store.reconcile(
                SOURCE,
                base,
                f"channels-{uuid4().hex}",
                Changes(declared=new),
                declared=PlanDeclared(now),
                removed=lambda record: plan_removed(record, now),
            )
        except StaleRevisionError as stale:  # another node was quicker with its own
            base = stale.details["found"]
        else:
            return
