"""More stores with one mistake each: about the outbox."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.protocols import AlertQuery, AlertState, ChannelAlert, Pruned
from foliot.stores.memory import MemoryStore


class DropsAlerts(MemoryStore):
    """Does not know of alerts."""

    def _write(self, job: Job, decision: Decision) -> None:
        super()._write(job, decision._replace(alerts=()))


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
