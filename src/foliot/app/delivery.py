"""The delivery of alerts: each channel has a job that empties its part of the outbox.

    outbox has alerts for `ops` ──▶ a run of foliot.alerts/ops ──▶ Channel.send ──▶ settled in the outbox

Only one such run is open at a time. A run that cannot send is retried as long as alerts wait. If a node dies
after it sent a message and before it recorded that, the message is sent again with the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from foliot.alerts.channel import Channel, Fate, Sent, ShowsOutput
from foliot.alerts.rate import Rate, plan_sends
from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.errors import StaleRevisionError
from foliot.executors.task import TaskExecutor
from foliot.model.alert import LONGEST_OUTPUT, OWN_SOURCE, Alert, AlertKind
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.policy import Keep, Policy, Retry
from foliot.observability.log import tell
from foliot.protocols import AlertQuery, AlertState, Changes, ChannelAlert, JobQuery, Result, Run
from foliot.schedules import Once
from foliot.wiring import FullStore

SOURCE = OWN_SOURCE
_EXPIRES = timedelta(hours=24)
_PING_EXPIRES = timedelta(minutes=10)  # the monitoring service has raised its alarm by then
_UNREADABLE = timedelta(seconds=30)  # retries for alerts that cannot be read
_AT_ONCE = 300  # most alerts in one message
_MOST_REMEMBERED = 500  # recent alerts that are read to count the messages of the last minutes
_NEVER = Once(datetime(1970, 1, 1, tzinfo=UTC))
# A message may take 30 seconds, and a run sends five at most.
_POLICY = Policy(
    retry=Retry(max=None, delay="5s", backoff=2, longest="10m", jitter=0.2),
    timeout=timedelta(minutes=3),
    keep=Keep(last=20, days=7),
)
OnSettled = Callable[[Sequence[ChannelAlert]], None]


class Delivery(TaskExecutor):
    """Sends the waiting alerts of one channel, at its rate. `not_before`: request no run before that.

    `on_settled` is called with alerts that no longer wait.
    """

    def __init__(
        self, name: str, channel: Channel, store: FullStore, on_settled: OnSettled = lambda _: None
    ) -> None:
        super().__init__()
        self.channel = channel
        self._name, self._store, self._on_settled = name, store, on_settled
        self._sent_at: set[datetime] = set()
        self._refusal = ""  # the last refusal that was logged
        self.not_before = datetime.min.replace(tzinfo=UTC)

    async def execute(self, run: Run) -> Result:
        """Send the oldest alerts; the next run sends the rest."""
        del run
        rows = await self._store.waiting(self._name, _AT_ONCE)
        now = await self._store.now()
        if not rows and self._name in await self._store.waiting_channels():
            self.not_before = now + _UNREADABLE
        old = [one for one in rows if _is_old(one.alert, now)]
        await self._settle(old, AlertState.EXPIRED, "it has waited for too long")
        if await self._is_muted(now):
            return Result(Outcome.SUCCEEDED, output="the channel is muted")
        fresh = {one.alert.id: one for one in rows if not _is_old(one.alert, now)}
        rate = self.channel.rate
        sent_at = await self._recently_sent(rate, now)
        plan = plan_sends(rate, sent_at, [one.alert for one in fresh.values()], now)
        self.not_before = plan.wait_until or self.not_before
        for part in plan.parts:
            sent = await self.channel.send(await self._with_output(part))
            if sent.fate is Fate.AGAIN and sent.after is not None:
                self.not_before = now + sent.after
                return Result(Outcome.SUCCEEDED, output=f"the channel asks to wait: {sent.reason}")
            if sent.fate is Fate.AGAIN:
                # The channel accepted some alerts: retry the rest soon, with the first delay.
                outcome = Outcome.SUCCEEDED if part is not plan.parts[0] else Outcome.FAILED
                reason = sent.reason or "the channel could not be reached"
                return Result(outcome, None if outcome is Outcome.SUCCEEDED else reason, output=reason)
            self._tell_refusal(sent)
            state = AlertState.REFUSED if sent.fate is Fate.REFUSED else AlertState.SENT
            await self._settle([fresh[alert.id] for alert in part], state, sent.reason or None)
        return Result(Outcome.SUCCEEDED)

    async def _is_muted(self, now: datetime) -> bool:
        views = await self._store.jobs(JobQuery(keys=frozenset((key_of(self._name),)), limit=1))
        watches = [view.record.state.watch for view in views if view.record is not None]
        return any(watch is not None and watch.is_muted(now) for watch in watches)

    async def _with_output(self, part: Sequence[Alert]) -> Sequence[Alert]:
        """Add the end of the attempt's output to a single alert. Secrets are already masked in the store."""
        alert = part[0]
        if len(part) > 1 or not isinstance(self.channel, ShowsOutput) or not (alert.run and alert.attempt):
            return part
        output = await self._store.output(alert.run, alert.attempt)
        return part if output is None else [alert._replace(output=output.text[-LONGEST_OUTPUT:] or None)]

    def _tell_refusal(self, sent: Sent) -> None:
        """Log a refusal once, not for each alert."""
        refusal = sent.reason if sent.fate is Fate.REFUSED else ""
        if refusal and refusal != self._refusal:
            tell("alert_refused", channel=self._name, answer=refusal)
        self._refusal = refusal

    async def _recently_sent(self, rate: Rate | None, now: datetime) -> list[datetime]:
        """When any node sent the last messages. Alerts of one message have the same time."""
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
            self._on_settled([one._replace(state=state) for one in rows])
            if state is AlertState.SENT:
                self._sent_at.add(now)


def _is_old(alert: Alert, now: datetime) -> bool:
    is_ping = alert.kind in (AlertKind.ENDED, AlertKind.TRIED)
    return alert.at < now - (_PING_EXPIRES if is_ping else _EXPIRES)


def kind_of(channel: str) -> str:
    """The kind of action that only nodes with the channel serve."""
    return f"alert:{channel}"


def key_of(channel: str) -> str:
    """The key of the job that delivers for a channel."""
    return f"{SOURCE}/{channel}"


def delivery_job(channel: str) -> Job:
    """The delivery job of a channel: it has no schedule."""
    action = Action(kind=kind_of(channel))
    return Job(source=SOURCE, name=channel, schedule=_NEVER, action=action, policy=_POLICY)


async def declare_deliveries(store: FullStore, jobs: Sequence[Job]) -> None:
    """Add or change these delivery jobs, and keep those of other programs."""
    views = await store.jobs(JobQuery(keys=frozenset(job.key for job in jobs), limit=max(len(jobs), 1)))
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
        except StaleRevisionError as stale:  # another node declared its own meanwhile
            base = stale.details["found"]
        else:
            return
