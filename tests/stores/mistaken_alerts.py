"""More stores with one mistake each: about the outbox."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from foliot.errors import InvalidJobError
from foliot.model.attempt import Ending
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import (
    AlertPage,
    AlertQuery,
    AlertState,
    ChannelAlert,
    DecideDeclared,
    DecideEnded,
    Finished,
    Pruned,
)
from foliot.stores.memory import MemoryStore


class DropsAlerts(MemoryStore):
    """Does not know of alerts."""

    def _write(self, job: Job, decision: Decision) -> None:
        super()._write(job, decision._replace(alerts=()))


class _DropsAlertsOfAVerb(MemoryStore):
    """One of its verbs writes decisions without their alerts, as a second way to write is made."""

    verb = ""
    is_at_it = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        setattr(self, self.verb, self._without_alerts(getattr(self, self.verb)))

    def _without_alerts(self, act: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def act_without(*arguments: Any, **options: Any) -> Any:
            self.is_at_it = True
            try:
                return await act(*arguments, **options)
            finally:
                self.is_at_it = False

        return act_without

    def _write(self, job: Job, decision: Decision) -> None:
        super()._write(job, decision._replace(alerts=() if self.is_at_it else decision.alerts))


class DropsAlertsOfClaims(_DropsAlertsOfAVerb):
    """What a claim finds to be late tells nobody."""

    verb = "claim"


class DropsAlertsOfEndings(_DropsAlertsOfAVerb):
    """What fails tells nobody."""

    verb = "finish"


class DropsAlertsOfLosses(_DropsAlertsOfAVerb):
    """What dies tells nobody."""

    verb = "recover"


class DropsAlertsOfRevisions(_DropsAlertsOfAVerb):
    """What a change of definitions misses tells nobody."""

    verb = "reconcile"


class TellsWhatItRefuses(MemoryStore):
    """Decides about every ending that is reported, and writes the alerts before it looks at the token."""

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        for ending in endings:
            record = self._records[ending.job]
            held = [
                e._replace(token=a.token)
                for e in endings
                for a in record.attempts
                if a.key == (e.run_key, e.number)
            ]
            self._outbox.add(decide(record, held, now).alerts)
        return await super().finish(node, endings, now, decide)


class TellsJobByJob(MemoryStore):
    """Writes the alerts of a revision while it is still being decided about."""

    async def reconcile(self, *arguments: Any, declared: DecideDeclared, **options: Any) -> tuple[Event, ...]:
        def declare(job: Job, record: Record | None) -> Decision:
            decision = declared(job, record)
            self._outbox.add(decision.alerts)
            return decision

        return await super().reconcile(*arguments, declared=declare, **options)


class LosesExitCodes(MemoryStore):
    """Keeps the columns that its author thought of."""

    def _write(self, job: Job, decision: Decision) -> None:
        kept = tuple(
            told._replace(alert=told.alert._replace(exit_code=None, reminder=0)) for told in decision.alerts
        )
        super()._write(job, decision._replace(alerts=kept))


class StartsWithoutWatch(MemoryStore):
    """A job that is new has no watch until it is decided about once more."""

    def _write(self, job: Job, decision: Decision) -> None:
        if job.key not in self._records:
            decision = decision._replace(state=decision.state._replace(watch=None))
        super()._write(job, decision)


class DropsAlertsOfTheForgotten(MemoryStore):
    """A job that is forgotten takes along what is told of it."""

    def _write(self, job: Job, decision: Decision) -> None:
        super()._write(job, decision._replace(alerts=() if decision.remove else decision.alerts))


class ForgetsTheWatch(MemoryStore):
    """Keeps a state without its watch."""

    def _write(self, job: Job, decision: Decision) -> None:
        super()._write(job, decision._replace(state=decision.state._replace(watch=None)))


class TellsAgain(MemoryStore):
    """An alert that is decided again takes the place of the one that is there."""

    def _write(self, job: Job, decision: Decision) -> None:
        for told in decision.alerts:
            self._outbox._alerts.pop((told.alert.id, told.channel), None)
        super()._write(job, decision)


class SettlesForAll(MemoryStore):
    """What one channel has sent waits for no channel."""

    async def settle(
        self, channel: str, ids: Collection[str], state: AlertState, at: datetime, answer: str | None = None
    ) -> int:
        channels = {one.channel for one in self._outbox.all()} | {channel}
        counts = [await super(SettlesForAll, self).settle(c, ids, state, at, answer) for c in channels]
        return max(counts)


class KeepsPings(MemoryStore):
    """A ping that was sent stays for ninety days."""

    async def settle(
        self, channel: str, ids: Collection[str], state: AlertState, at: datetime, answer: str | None = None
    ) -> int:
        before = {one.alert.id: one for one in self._outbox.waiting(channel, 1000)}
        count = await super().settle(channel, ids, state, at, answer)
        self._outbox.add(before[one]._replace(state=state, settled_at=at) for one in ids if one in before)
        return count


class SettlesAgain(MemoryStore):
    """What was settled may be settled otherwise."""

    async def settle(
        self, channel: str, ids: Collection[str], state: AlertState, at: datetime, answer: str | None = None
    ) -> int:
        found = [one for one in self._outbox.all() if one.channel == channel and one.alert.id in ids]
        for one in found:
            changed = one._replace(state=state, settled_at=at, answer=answer)
            self._outbox._alerts[one.alert.id, channel] = changed
        return len(found)


class NewestFirst(MemoryStore):
    """The oldest alerts starve."""

    async def waiting(self, channel: str, limit: int) -> tuple[ChannelAlert, ...]:
        return (await super().waiting(channel, 10_000))[::-1][:limit]


class GivesAll(MemoryStore):
    """However few are asked for."""

    async def waiting(self, channel: str, limit: int) -> tuple[ChannelAlert, ...]:
        del limit
        return await super().waiting(channel, 10_000)


class CountsWhatWasAskedFor(MemoryStore):
    """Believes that everything waited which it is told to settle."""

    async def settle(
        self, channel: str, ids: Collection[str], state: AlertState, at: datetime, answer: str | None = None
    ) -> int:
        await super().settle(channel, ids, state, at, answer)
        return len(ids)


class ForgetsTheAnswer(MemoryStore):
    """Knows that an alert was refused, and not why."""

    async def settle(
        self, channel: str, ids: Collection[str], state: AlertState, at: datetime, answer: str | None = None
    ) -> int:
        del answer
        return await super().settle(channel, ids, state, at)


class FindsByChannelOnly(MemoryStore):
    """Leaves most conditions of a query aside."""

    async def alerts(self, query: AlertQuery) -> AlertPage:
        return await super().alerts(query._replace(job=None, kind=None, state=None, since=None, until=None))


class IncludesTheEnd(MemoryStore):
    """Takes the end of a time for part of it."""

    async def alerts(self, query: AlertQuery) -> AlertPage:
        until = query.until and query.until + timedelta(microseconds=1)
        return await super().alerts(query._replace(until=until))


class PagesById(MemoryStore):
    """A page goes on after an id, though two channels may have it."""

    async def alerts(self, query: AlertQuery) -> AlertPage:
        page = await super().alerts(query._replace(after="", limit=10_000))
        rest = [one for one in page if not query.after or one.alert.id < query.after]
        shown = rest[: query.limit]
        return AlertPage(shown, shown[-1].alert.id if len(rest) > query.limit else None)


class BeginsAnywhere(MemoryStore):
    """A place that it does not know is the beginning."""

    async def alerts(self, query: AlertQuery) -> AlertPage:
        try:
            return await super().alerts(query)
        except InvalidJobError:
            return await super().alerts(query._replace(after=""))


class KeepsWhatWaits(MemoryStore):
    """Forgets what was settled only."""

    async def prune(self, now: datetime, limit: int) -> Pruned:
        waiting = {key: one for key, one in self._outbox._alerts.items() if one.state is AlertState.WAITING}
        pruned = await super().prune(now, limit)
        back = len(waiting.keys() - self._outbox._alerts.keys())
        self._outbox._alerts.update(waiting)
        return pruned._replace(forgotten=pruned.forgotten - back)


class ForgetsAllAtOnce(MemoryStore):
    """Holds everybody up while it forgets a year's alerts."""

    async def prune(self, now: datetime, limit: int) -> Pruned:
        del limit
        return await super().prune(now, 1_000_000)


class TellsTheNewest(MemoryStore):
    """Says since when the newest alert waits, not the oldest."""

    async def waiting_channels(self) -> Mapping[str, datetime]:
        waiting = [one for one in self._outbox.all() if one.state is AlertState.WAITING]
        return {one.channel: one.alert.at for one in sorted(waiting, key=lambda one: one.alert.at)}


class KeepsForEver(MemoryStore):
    """Never forgets an alert."""

    async def prune(self, now: datetime, limit: int) -> Pruned:
        kept = dict(self._outbox._alerts)
        pruned = await super().prune(now, limit)
        self._outbox._alerts.update(kept)
        return pruned._replace(forgotten=0)


class CountsWhatWasSent(MemoryStore):
    """Believes that alerts wait which were sent."""

    async def waiting_channels(self) -> Mapping[str, datetime]:
        return {one.channel: one.alert.at for one in await self.alerts(AlertQuery())}
