"""The outbox in memory: alerts by their ids and channels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from threading import RLock

from foliot.model.outbox import KEPT_DAYS, AlertState, ChannelAlert, is_forgotten
from foliot.protocols import AlertPage, AlertQuery
from foliot.stores.pages import page_of_alerts

_Key = tuple[str, str]


class Outbox:
    """All alerts that are kept."""

    def __init__(self) -> None:
        self._alerts: dict[_Key, ChannelAlert] = {}

    def add(self, alerts: Iterable[ChannelAlert]) -> None:
        """Alerts were decided; one that is there already stays as it is."""
        for told in alerts:
            self._alerts.setdefault((told.alert.id, told.channel), told)

    def all(self) -> Iterable[ChannelAlert]:
        """Every one of them, in some order."""
        return self._alerts.values()

    def waiting(self, channel: str, limit: int) -> tuple[ChannelAlert, ...]:
        """Those that wait for a channel, the oldest first."""
        found = [one for one in self._waiting() if one.channel == channel]
        return tuple(sorted(found, key=lambda one: (one.alert.at, one.alert.id))[:limit])

    def waiting_channels(self) -> dict[str, datetime]:
        """The channels that alerts wait for, each with the time of the oldest."""
        oldest: dict[str, datetime] = {}
        for one in self._waiting():
            oldest[one.channel] = min(oldest.get(one.channel, one.alert.at), one.alert.at)
        return oldest

    def settle(
        self, channel: str, ids: Collection[str], state: AlertState, at: datetime, answer: str | None
    ) -> int:
        """Those of them that wait do so no more; how many did."""
        found = [one for one in self._waiting() if one.channel == channel and one.alert.id in ids]
        for one in found:
            if is_forgotten(one.alert.kind, state):
                del self._alerts[one.alert.id, channel]
            else:
                settled = one._replace(state=state, settled_at=at, answer=answer)
                self._alerts[one.alert.id, channel] = settled
        return len(found)

    def forget_old(self, now: datetime, limit: int) -> int:
        """Forget what is older than what is kept, at most `limit`. Returns how many."""
        since = now - timedelta(days=KEPT_DAYS)
        old = [key for key, one in self._alerts.items() if one.alert.at < since][:limit]
        for key in old:
            del self._alerts[key]
        return len(old)

    def _waiting(self) -> list[ChannelAlert]:
        return [one for one in self._alerts.values() if one.state is AlertState.WAITING]


class AlertVerbs:
    """The verbs of `AlertStore`."""

    _lock: RLock
    _outbox: Outbox

    async def waiting(self, channel: str, limit: int) -> tuple[ChannelAlert, ...]:
        with self._lock:
            return self._outbox.waiting(channel, limit)

    async def waiting_channels(self) -> Mapping[str, datetime]:
        with self._lock:
            return self._outbox.waiting_channels()

    async def settle(
        self, channel: str, ids: Collection[str], state: AlertState, at: datetime, answer: str | None = None
    ) -> int:
        with self._lock:
            return self._outbox.settle(channel, ids, state, at, answer)

    async def alerts(self, query: AlertQuery) -> AlertPage:
        with self._lock:
            return page_of_alerts(self._outbox.all(), query)
