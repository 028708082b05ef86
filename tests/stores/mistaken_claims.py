"""More stores with one mistake each: about claims, and about passing over."""

# ruff: noqa: PLR0917 - what a claim is asked

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from foliot.model.decision import Decision
from foliot.model.state import Lease, Node, Record
from foliot.protocols import NO_LIMITS, Claimed, DecideDue
from foliot.stores.memory import MemoryStore


class ForgetsAnswers(MemoryStore):
    """No record of claim ids."""

    async def claim(
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        another = f"{claim_id} {id(object())} {now} {len(self._claims)}"
        return await super().claim(node, now, room, decide, another, limits)


class CountsRoomTogether(MemoryStore):
    """One limit for all queues."""

    async def claim(
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        total = sum(room.values())
        return await super().claim(node, now, dict.fromkeys(room, total), decide, claim_id, limits)


class ClaimsEarly(MemoryStore):
    """Due-ness by a clock that is ahead."""

    async def claim(
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        return await super().claim(node, now + timedelta(seconds=1), room, decide, claim_id, limits)


class ClaimsAfterTheLease(MemoryStore):
    """A claim renews by itself."""

    async def claim(
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        await self.renew(node)
        return await super().claim(node, now, room, decide, claim_id, limits)


class IgnoresKinds(MemoryStore):
    async def join(self, node: Node) -> Lease:
        return await super().join(node._replace(kinds=None))


class SpendsATokenOnNothing(MemoryStore):
    """Every answer is written, and a write has a token."""

    async def claim(
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        claimed = await super().claim(node, now, room, decide, claim_id, limits)
        for key, record in self._records.items():
            state = record.state
            if state.wake_at is not None and state.wake_at <= now:
                self._records[key] = record._replace(state=state._replace(token=state.token + 1))
        return claimed


class StopsAtWhatDoesNotFit(MemoryStore):
    """The first that is passed over is the last that is looked at."""

    async def claim(
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        has_passed = False

        def decide_until_then(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
            nonlocal has_passed
            decision = Decision(record.state) if has_passed else decide(record, now, node, most)
            has_passed = has_passed or decision.is_nothing(record)
            return decision

        return await super().claim(node, now, room, decide_until_then, claim_id, limits)


class ForgetsWhatDoesNotFit(MemoryStore):
    """What was taken from the index is never put back."""

    async def claim(
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        def sleep(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
            decision = decide(record, now, node, most)
            asleep = decision._replace(state=record.state._replace(wake_at=None))
            return asleep if decision.is_nothing(record) else decision

        return await super().claim(node, now, room, sleep, claim_id, limits)


class LooksAtTheFrontOnly(MemoryStore):
    """Looks at a thousand jobs, those in front, whatever became of them the last time."""

    async def claim(
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        looks = 0

        def decide_about_the_first(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
            nonlocal looks
            looks += 1
            return decide(record, now, node, most) if looks <= 1000 else Decision(record.state)

        claimed = await super().claim(node, now, room, decide_about_the_first, claim_id, limits)
        return claimed._replace(more=claimed.more or looks >= 1000)


class AsksAgainAndAgain(MemoryStore):
    """What is still due after a look is looked at once more."""

    async def claim(
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        def decide_twice(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
            decision = decide(record, now, node, most)
            return decide(record, now, node, most) if decision.is_nothing(record) else decision

        return await super().claim(node, now, room, decide_twice, claim_id, limits)
