"""Stores with one mistake each, of the kind that back ends make: see `test_contract_catches`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

from foliot.errors import FoliotError
from foliot.model.attempt import Ending
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.state import Lease, Record
from foliot.protocols import (
    Changes,
    DecideEnded,
    DecideLost,
    Finished,
    JobPage,
    JobQuery,
    Pruned,
    Recovered,
    RunQuery,
    Wakes,
)
from foliot.stores.memory import MemoryStore
from stores.file_store import FileStore


class IgnoresTheToken(MemoryStore):
    """A finish by the attempt's name alone."""

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        tokens = {attempt.key: attempt.token for attempt in await self.runs(RunQuery())}
        named = [e._replace(token=tokens.get((e.run_key, e.number), 0)) for e in endings]
        return await super().finish(node, named, now, decide)


class ComparesTheJobsToken(MemoryStore):
    """A finish is guarded by the state's token instead of the attempt's."""

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        stale = [e for e in endings if e.job in self._records and self._records[e.job].state.token != e.token]
        return await super().finish(node, [e for e in endings if e not in stale], now, decide)


class StopsAtTheFirstStale(MemoryStore):
    """A batch is one transaction: a stale ending rolls all of it back."""

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        before = dict(self._records), deepcopy(self._nodes)
        if (finished := await super().finish(node, endings, now, decide)).refused:
            self._records, self._nodes = before
        return finished


class TouchesTheState(MemoryStore):
    """Every write grows the token, a happy finish as well."""

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        def touched(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
            decision = decide(record, endings, now)
            return decision._replace(state=decision.state._replace(token=decision.state.token + 1))

        return await super().finish(node, endings, now, touched)


class ShortensErrors(MemoryStore):
    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        short = [ending._replace(error=(ending.error or "")[:4000]) for ending in endings]
        return await super().finish(node, short, now, decide)


class ForgetsLeases(MemoryStore):
    """A lease is a key that the server lets expire: whoever is late is gone."""

    async def renew(self, node: str) -> Lease:
        life = self._nodes.lives.get(node)
        if life is not None and life.until < self._clock.now():
            await self.leave(node)
        return await super().renew(node)


class BuriesTheLiving(MemoryStore):
    """The node that recovers decides by its own clock, which is ahead."""

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        for node, life in list(self._nodes.lives.items()):
            if life.until < self._clock.now() + timedelta(seconds=25):
                await self.leave(node)
        return await super().recover(limit, now, decide)


class ForgetsTheDead(MemoryStore):
    """Of the buried nothing is kept, so whoever comes back is new."""

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        recovered = await super().recover(limit, now, decide)
        self._nodes.lives = {id_: x for id_, x in self._nodes.lives.items() if not x.is_buried}
        return recovered


class IgnoresTheLimit(MemoryStore):
    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        return await super().recover(limit + 1000, now, decide)


class WaitsForTheLease(MemoryStore):
    """Leaving only stops the renewals."""

    async def leave(self, node: str) -> None:
        del node


class IgnoresTheBase(MemoryStore):
    async def reconcile(self, source: str, base: Any, revision: str, changes: Changes, **by: Any) -> Any:
        del base
        found = await self.revision(source)
        return await super().reconcile(source, found, revision, changes, **by)


class ReconcilesJobByJob(MemoryStore):
    """Each job is a write of its own."""

    async def reconcile(self, source: str, base: Any, revision: str, changes: Changes, **by: Any) -> Any:
        if await self.revision(source) == revision:
            return ()
        events: list[Event] = []
        for job in changes.declared:
            part = Changes((job,))
            found = await self.revision(source)
            events += await super().reconcile(source, found, f"{base}+{job.name}", part, **by)
        found = await self.revision(source)
        rest = Changes(removed=changes.removed)
        return (*events, *await super().reconcile(source, found, revision, rest, **by))


class KeepsMilliseconds(MemoryStore):
    """The server's times have no microseconds."""

    def _write(self, job: Job, decision: Decision) -> None:
        state = decision.state
        if state.wake_at is not None:
            kept = state.wake_at.replace(microsecond=state.wake_at.microsecond // 1000 * 1000)
            decision = decision._replace(state=state._replace(wake_at=kept))
        super()._write(job, decision)


class FoldsCase(MemoryStore):
    """A collation for people: it sorts names without regard to case."""

    async def jobs(self, query: JobQuery) -> JobPage:
        views = await super().jobs(query._replace(after="", limit=100_000))
        later = [view for view in views if view.key.lower() > query.after.lower()]
        return JobPage(sorted(later, key=lambda view: view.key.lower())[: query.limit])


class FindsByPattern(MemoryStore):
    """A source is found by the beginning of the key."""

    async def jobs(self, query: JobQuery) -> JobPage:
        views = await super().jobs(query._replace(source=None))
        return JobPage(view for view in views if view.key.startswith(query.source or ""))


class PagesBeforeHiding(MemoryStore):
    """Takes a page first, and then leaves out what is hidden."""

    async def jobs(self, query: JobQuery) -> JobPage:
        page = await super().jobs(query._replace(with_removed=True))
        return JobPage(v for v in page if query.with_removed or not v.record or not v.record.state.removed_at)


class CountsWhatWaits(MemoryStore):
    """Everything open counts as held."""

    async def renew(self, node: str) -> Lease:
        lease = await super().renew(node)
        return lease._replace(open_count=len(await self.runs(RunQuery(is_open=True))))


class PrunesTheNewest(MemoryStore):
    async def prune(self, now: datetime, limit: int) -> Pruned:
        for key in self._records:
            self._past.of(key).opened += 1
        return await super().prune(now, limit)


class DropsUnknownFields(MemoryStore):
    def _write(self, job: Job, decision: Decision) -> None:
        known = {name: getattr(job, name) for name in Job.__slots__ if name != "extra"}
        super()._write(Job(**known), decision)


class StopsAtDamage(MemoryStore):
    """One bad record, and nothing is shown at all."""

    async def jobs(self, query: JobQuery) -> JobPage:
        views = await super().jobs(query)
        return views if not any(view.damage for view in views) else JobPage()


class ForgetsExitCodes(MemoryStore):
    """Keeps how attempts ended, and not what their processes ended with."""

    def _write(self, job: Job, decision: Decision) -> None:
        attempts = tuple(attempt._replace(exit_code=None) for attempt in decision.attempts)
        super()._write(job, decision._replace(attempts=attempts))


class CountsTheWholeQueue(MemoryStore):
    """Takes what waits for its time for what is due."""

    async def wakes(
        self,
        queues: Iterable[str],
        kinds: Collection[str] | None = None,
        due_by: datetime | None = None,
        *,
        after: datetime | None = None,
    ) -> Wakes:
        return await super().wakes(queues, kinds, due_by and due_by + timedelta(days=1), after=after)


class CountsWhatMoved(MemoryStore):
    """Counts what was due once, whatever became of it."""

    async def wakes(
        self,
        queues: Iterable[str],
        kinds: Collection[str] | None = None,
        due_by: datetime | None = None,
        *,
        after: datetime | None = None,
    ) -> Wakes:
        due = sum(record.job.queue in set(queues) for record in self._records.values())
        return (await super().wakes(queues, kinds, due_by, after=after))._replace(due=due)


class LastWriteWins(FileStore):
    """Reads, decides and writes, and never looks whether somebody else has written."""

    def _put(self, before: bytes, after: bytes) -> bool:
        del before
        self._path.write_bytes(after)
        return True


class ComparesTokensOnly(FileStore):
    """Takes the token for the version, though a finish may leave it alone."""

    def _put(self, before: bytes, after: bytes) -> bool:
        now = self._path.read_bytes() if self._path.exists() else b""
        if self._versions(now) != self._versions(before):
            return False
        return super()._put(now, after)

    def _versions(self, data: bytes) -> object:
        store = self._unpacked(data)
        tokens = {key: record.state.token for key, record in store._records.items()}
        return tokens, store._nodes.lives, vars(store._sources), sorted(store._claims)


class WritesHistoryFirst(FileStore):
    """What ended is history before it is known whether the ending counts."""

    async def finish(self, *report: Any) -> Finished:
        early = self._unpacked(self._path.read_bytes())
        with suppress(FoliotError):
            await early.finish(*report)
        before = self._path.read_bytes()
        store = self._unpacked(before)
        for key in early._records:
            store._past.of(key).attempts.update(early._past.of(key).attempts)
        self._put(before, self._packed(store))
        finished: Finished = await self.__getattr__("finish")(*report)
        return finished
