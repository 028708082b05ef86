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
from uuid import uuid4

from foliot.alerts.channel import Channel, Fate
from foliot.alerts.rate import Rate, plan_sends
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
from foliot.model.attempt import Outcome
from foliot.model.decision import Decision
from foliot.model.job import Action, Job
from foliot.model.policy import Keep, Notify, Policy, Retry
from foliot.model.query import JobOrder
from foliot.model.state import Record
from foliot.observability.log import tell
from foliot.protocols import (
    AlertQuery,
    AlertState,
    Changes,
    ChannelAlert,
    Executor,
    JobQuery,
    JobView,
    Result,
    Run,
)
from foliot.schedules import Once
from foliot.wiring import FullStore

SOURCE = "foliot.alerts"
_POLL = timedelta(seconds=2)
_TURNS_OF_A_LOOK = 5
_OVERDUE = timedelta(seconds=30)
_EXPIRES = timedelta(hours=24)
_UNREADABLE = timedelta(seconds=30)  # so often alerts that cannot be read are tried again
_AT_ONCE = 300  # alerts of one message at most
_MOST_REMEMBERED = 500  # alerts among which the messages of the last minutes are looked for
_PAGE, _MOST_PAGES = 500, 20
_WAITING = "alerts wait to be sent"
_NEVER = Once(datetime(1970, 1, 1, tzinfo=UTC))
# A message may take 30 seconds, and a run sends five at most.
_POLICY = Policy(
    retry=Retry(max=None, delay="5s", backoff=2, longest="10m", jitter=0.2),
    timeout=timedelta(minutes=3),
    keep=Keep(last=20, days=7),
)


def check_channels(given: object) -> None:
    """Refuse what cannot be channels by name."""
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
    """Brings the delivery jobs of an application's channels to its engine, and asks for their runs."""

    def __init__(self, channels: Mapping[str, Channel], poll: timedelta = _POLL) -> None:
        self._channels = dict(channels)
        self._poll = poll
        self._deliveries: dict[str, Delivery] = {}
        self._host: Workplace | None = None

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """Declare a job for each channel. One whose secret is not here is left to nodes that have it."""
        self._host = host
        await _declare(host.store, [delivery_job(name) for name in self._channels])
        for name, channel in self._channels.items():
            if (missing := channel.missing()) is None:
                self._deliveries[name] = Delivery(name, channel, host.store)
            else:
                tell("channel_unusable", channel=name, missing=missing)
        return {kind_of(name): delivery for name, delivery in self._deliveries.items()}

    async def live(self) -> None:
        """Ask for a run where alerts wait, and look at jobs that no node looks at."""
        host = self._host
        assert host is not None  # noqa: S101 - `begin` was called
        for turn in count():
            with suppress(StoreError):  # the engine tells of a store that is away
                await self._ask_for_runs(host)
                if turn % _TURNS_OF_A_LOOK == 0:
                    await self._look_at_overdue(host)
            await host.clock.wait(self._poll)

    async def _ask_for_runs(self, host: Workplace) -> None:
        waiting = await host.store.waiting_channels()
        for channel in [name for name in self._deliveries if name in waiting]:
            now = await host.store.now()
            if now < self._deliveries[channel].not_before:
                continue

            def ask(record: Record, now: datetime = now) -> Decision:
                state = record.state
                if record.attempts or state.removed_at is not None:
                    return Decision(state)
                # The token grows with each decision, so no two requests have the same name.
                return plan_command(record, RunNow(f"alerts-{state.token}", _WAITING), now)

            with suppress(JobNotFoundError):
                host.handle_events((await host.store.update(key_of(channel), ask)).events)

    async def _look_at_overdue(self, host: Workplace) -> None:
        """A job that no node serves is late, too. So many pages of overdue jobs are looked at, no more."""
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

    async def close(self) -> None:
        """There is nothing to let go of."""

    def title(self, job: str) -> None:
        """Their runs are not told of in the log one by one."""


def _wakes_before(view: JobView, at: datetime) -> bool:
    wake_at = view.record.state.wake_at if view.record is not None else None
    return wake_at is not None and wake_at < at


def alert_parts(channels: Mapping[str, Channel]) -> list[Part]:
    """What an application with these channels has attached to it from the beginning."""
    return [AlertsPart(channels)] if channels else []


class Delivery(TaskExecutor):
    """Sends what waits for one channel, at its rate. `not_before`: until then no run is worth asking for."""

    def __init__(self, name: str, channel: Channel, store: FullStore) -> None:
        super().__init__()
        self._name, self._channel, self._store = name, channel, store
        self._sent_at: set[datetime] = set()
        self.not_before = datetime.min.replace(tzinfo=UTC)

    async def execute(self, run: Run) -> Result:
        """Send the oldest alerts; the next run sends what is left."""
        del run
        rows = await self._store.waiting(self._name, _AT_ONCE)
        now = await self._store.now()
        if not rows and self._name in await self._store.waiting_channels():
            self.not_before = now + _UNREADABLE
        old = [one for one in rows if one.alert.at < now - _EXPIRES]
        await self._settle(old, AlertState.EXPIRED, "it has waited for a day")
        fresh = {one.alert.id: one for one in rows if one.alert.at >= now - _EXPIRES}
        rate = self._channel.rate
        sent_at = await self._recently_sent(rate, now)
        plan = plan_sends(rate, sent_at, [one.alert for one in fresh.values()], now)
        self.not_before = plan.wait_until or self.not_before
        for part in plan.parts:
            sent = await self._channel.send(part)
            if sent.fate is Fate.AGAIN and sent.after is not None:
                self.not_before = now + sent.after
                return Result(Outcome.SUCCEEDED, output=f"the channel asks to wait: {sent.reason}")
            if sent.fate is Fate.AGAIN:
                return Result(Outcome.FAILED, sent.reason or "the channel could not be reached")
            state = AlertState.REFUSED if sent.fate is Fate.REFUSED else AlertState.SENT
            await self._settle([fresh[alert.id] for alert in part], state, sent.reason or None)
        return Result(Outcome.SUCCEEDED)

    async def _recently_sent(self, rate: Rate | None, now: datetime) -> list[datetime]:
        """When the last messages were sent, by any node: what is sent together is settled together."""
        if rate is None:
            return []
        query = AlertQuery(channel=self._name, state=AlertState.SENT, limit=_MOST_REMEMBERED)
        known = {one.settled_at for one in await self._store.alerts(query) if one.settled_at is not None}
        self._sent_at = {at for at in self._sent_at | known if at > now - rate.within}
        return list(self._sent_at)

    async def _settle(self, rows: Sequence[ChannelAlert], state: AlertState, answer: str | None) -> None:
        if rows:
            ids = [one.alert.id for one in rows]
            now = await self._store.now()
            await self._store.settle(self._name, ids, state, now, answer)
            if state is AlertState.SENT:
                self._sent_at.add(now)


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
