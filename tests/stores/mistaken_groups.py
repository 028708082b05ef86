"""More stores with one mistake each: about groups, and about times without nodes."""

# ruff: noqa: ARG002, ARG005, PLR0917 - what a claim is asked, and what a mistake does not look at

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from foliot.model.answer import NO_LIMITS
from foliot.model.decision import Decision
from foliot.model.state import Lease, Node, Record
from foliot.model.view import Outage
from foliot.protocols import Claimed, DecideDue, Wakes
from foliot.stores.memory import MemoryStore

MANY = 1000


class _Claims(MemoryStore):
    """What a claim is asked, and its answer, for those who get one of them wrong."""

    async def claim(
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        asked = self._asked(node, dict(limits))
        return self._told(await super().claim(node, now, room, self._guarded(decide), claim_id, asked))

    def _asked(self, node: str, limits: dict[str, int]) -> dict[str, int]:
        del node
        return limits

    def _guarded(self, decide: DecideDue) -> DecideDue:
        return decide

    def _told(self, claimed: Claimed) -> Claimed:
        return claimed


class IgnoresLimits(_Claims):
    def _asked(self, node: str, limits: dict[str, int]) -> dict[str, int]:
        return dict.fromkeys(limits, MANY)


class CountsEachNode(_Claims):
    """Each node has the whole limit for itself."""

    def _asked(self, node: str, limits: dict[str, int]) -> dict[str, int]:
        def of_others(group: str) -> int:
            runs = self._groups._runs.get(group, {})
            return sum(holder != node for holder in runs.values())

        return {group: limit + of_others(group) for group, limit in limits.items()}


class LetsUnknownGroupsRun(_Claims):
    def _asked(self, node: str, limits: dict[str, int]) -> dict[str, int]:
        return {record.job.group or "": MANY for record in self._records.values()} | limits


class KeepsTheFirstLimit(_Claims):
    first: Mapping[str, int] = NO_LIMITS

    def _asked(self, node: str, limits: dict[str, int]) -> dict[str, int]:
        self.first = limits | dict(self.first)
        return dict(self.first)


class StopsAtAFullGroup(_Claims):
    """Who waits at the front holds up all behind."""

    def _guarded(self, decide: DecideDue) -> DecideDue:
        is_full = False

        def decide_until_then(record: Record, now: datetime, node: str, most: int) -> Decision:
            nonlocal is_full
            is_full = is_full or not most
            return Decision(record.state) if is_full else decide(record, now, node, most)

        return decide_until_then


class GivesRetriesAWay(_Claims):
    """A retry starts, whatever else runs."""

    def _guarded(self, decide: DecideDue) -> DecideDue:
        def decide_about_firsts(record: Record, now: datetime, node: str, most: int) -> Decision:
            return decide(record, now, node, max(most, bool(record.attempts)))

        return decide_about_firsts


class DoesNotTell(_Claims):
    def _told(self, claimed: Claimed) -> Claimed:
        return claimed._replace(waits=False)


class NeverFrees(MemoryStore):
    """What was started in a group counts for ever."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._groups._is_held = lambda _node, _key: True


class GoesOnBehindWhatWaits(MemoryStore):
    """A claim begins where the last one ended, though a place is free again."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._groups.full = lambda limits: ()  # type: ignore[method-assign] # the mistake


class CountsByDefinition(MemoryStore):
    """An attempt counts where its job is now."""

    async def running(self, group: str) -> int:
        records = [record for record in self._records.values() if record.job.group == group]
        return sum(attempt.is_running for record in records for attempt in record.attempts)


class WakesForWhatWaits(MemoryStore):
    async def wakes(
        self,
        queues: Iterable[str],
        kinds: Collection[str] | None = None,
        due_by: datetime | None = None,
        *,
        after: datetime | None = None,
    ) -> Wakes:
        del after
        return await super().wakes(queues, kinds, due_by)


class SeesNoOutage(MemoryStore):
    async def outages(self) -> tuple[Outage, ...]:
        return ()


class TrustsTheLease(MemoryStore):
    """A node counts as running until its lease is over."""

    async def outages(self) -> tuple[Outage, ...]:
        found = await super().outages()
        return tuple(outage._replace(first=outage.first + self._lease) for outage in found)


class ForgetsWhoSlept(MemoryStore):
    """Who renews was there all the time."""

    async def renew(self, node: str) -> Lease:
        known = self._nodes.outages
        lease = await super().renew(node)
        self._nodes.outages = known
        return lease


class CountsEachAbsence(MemoryStore):
    """A node that leaves begins an outage, though others stay."""

    async def join(self, node: Node) -> Lease:
        now = self._clock.now()
        gone = [life.until - self._lease for life in self._nodes.lives.values() if life.is_buried]
        lease = await super().join(node)
        self._nodes.outages += tuple(Outage(at, now) for at in gone)
        return lease
