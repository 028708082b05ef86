"""The steps of a copy: check both stores, copy source by source, then the rest, then compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple, TypeVar

from foliot.errors import StoreError
from foliot.model.attempt import Attempt
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.query import AuditQuery, PipelineQuery, TokenQuery
from foliot.model.state import Record, State
from foliot.model.view import SourceView
from foliot.operations.copying.beside import copy_audit, copy_pipelines, copy_tokens
from foliot.operations.copying.compare import differences
from foliot.operations.copying.past import Past, read_past
from foliot.operations.copying.replay import Group, in_groups, steps_of
from foliot.operations.removal import where
from foliot.protocols import Changes, ChannelAlert, DecideCommand, JobQuery, JobView, Output
from foliot.wiring import FullStore

_PAGE = 500
_T = TypeVar("_T")
_SCRATCH = "copying"  # the prefix of revisions during a copy


class Copied(NamedTuple):
    """How much was copied of each kind; and the unreadable jobs, which were left out."""

    counts: Mapping[str, int]
    left_out: tuple[str, ...] = ()


async def copy_store(old: FullStore, new: FullStore) -> Copied:
    """Copy a store into another, empty one. StoreError if that cannot be done.

    An interrupted copy starts no runs: the next time of a job is written last.
    """
    await _refuse_the_living(old)
    await _refuse_the_full(new)
    now = await old.now()
    copy = _Copy(old, new, now)
    for source in await _sources(old):
        await copy.take_source(source)
    copy.counts["tokens"] = await copy_tokens(old, new)
    copy.counts["audit entries"] = await copy_audit(old, new)
    copy.counts["pipelines"] = await copy_pipelines(old, new)
    wrong = [text async for text in differences(old, new, now)]
    if wrong:
        shown = "; ".join(wrong[:3])
        hint = "do not use the copy: empty it and copy once more; please report this"
        raise StoreError(f"the copy differs from the store in {len(wrong)} place(s): {shown}", hint=hint)
    return Copied(dict(copy.counts), tuple(copy.left_out))


async def _refuse_the_living(old: FullStore) -> None:
    now = await old.now()
    living = [view for view in await old.nodes() if view.until >= now]
    if living:
        hint = "stop it first: its runs during the copy would be missing in the copy"
        raise StoreError(f"a node works on the store: {where(living)}", hint=hint)


async def _refuse_the_full(new: FullStore) -> None:
    kept = (
        await new.jobs(JobQuery(with_removed=True, limit=1)),
        await new.sources(),
        await new.nodes(),
        await new.tokens(TokenQuery(limit=1)),
        await new.audit(AuditQuery(limit=1)),
        await new.pipelines(PipelineQuery(with_removed=True, limit=1)),
    )
    if any(kept):
        hint = "name a store that nothing has used yet"
        raise StoreError("the target store is not empty, and is left as it is", hint=hint)


async def _sources(old: FullStore) -> Sequence[SourceView]:
    """The sources that the store lists, and those of which only removed jobs are left."""
    known = {view.source: view for view in await old.sources()}
    async for view in every_view(old, None):
        source = view.key.partition("/")[0]
        known.setdefault(source, SourceView(source))
    return sorted(known.values())


async def every_view(store: FullStore, source: str | None) -> AsyncIterator[JobView]:
    """All jobs, of one source or of all, removed ones included."""
    query = JobQuery(source=source, with_removed=True, limit=_PAGE)
    while page := await store.jobs(query):
        for view in page:
            yield view
        query = query._replace(after=page[-1].key)


class _Copy:
    """One copy under way."""

    def __init__(self, old: FullStore, new: FullStore, now: datetime) -> None:
        self._old, self._new, self._now = old, new, now
        self.counts: Counter[str] = Counter()
        self.left_out: list[str] = []

    async def take_source(self, view: SourceView) -> None:
        """Copy a source with all its jobs."""
        pasts = [past async for past in self._pasts(view.source)]
        await self._declare(view, pasts)
        for past in pasts:
            await self._fill(past)
        if view.status is not None:
            await self._new.write_source_status(view.source, view.status)
        if view.revision is None and pasts:
            await self._new.forget_source(view.source, await self._new.revision(view.source))
        else:
            revisions = await self._old.revisions(view.source)
            await self._new.restore_source(view.source, view.reconciled_at, revisions)
            self.counts["revisions"] += len(revisions)
        self.counts["sources"] += view.revision is not None or view.status is not None

    async def _pasts(self, source: str) -> AsyncIterator[Past]:
        async for view in every_view(self._old, source):
            past = await read_past(self._old, view, self._now)
            if past is None:
                self.left_out.append(view.key)
            else:
                yield past

    async def _declare(self, view: SourceView, pasts: Sequence[Past]) -> None:
        """Declare all definitions, from the oldest that is kept to the present one."""
        source = view.source
        steps = [steps_of(past) for past in pasts]
        for number, some in enumerate(_pages(steps), start=1):
            first = {one.job.key: (one.job, one.state) for one in some}
            await self._write(source, f"{_SCRATCH}-{number}", first)
        for group in in_groups([step for one in steps for step in one.rest]):
            await self._replay(source, group)
        self.counts["versions"] += sum(len(past.versions) for past in pasts)
        if view.revision is not None:
            await self._write(source, view.revision, {})

    async def _replay(self, source: str, group: Group) -> None:
        if group.revision is not None:
            written = {step.job.key: (step.job, step.state) for step in group.steps}
            await self._write(source, group.revision, written)
            return
        for step in group.steps:
            await self._new.update(step.job.key, _just(step.state))

    async def _write(self, source: str, revision: str, jobs: Mapping[str, tuple[Job, State]]) -> None:
        base = await self._new.revision(source)
        if base == revision:  # the last one that was replayed
            return
        await self._new.reconcile(
            source,
            base,
            revision,
            Changes(tuple(job for job, _ in jobs.values())),
            declared=lambda job, _: Decision(jobs[job.key][1]),
            removed=_never,
        )

    async def _fill(self, past: Past) -> None:
        """Write the history of a job, and then its state."""
        for some in _pages(past.attempts):
            await self._new.update(past.key, _just(None, attempts=some))
            await self._copy_outputs(some)
        for skips in _pages(past.skips):
            await self._new.update(past.key, lambda record, s=skips: Decision(record.state, skips=s))  # type: ignore[misc]  # mypy knows no such default
        final = Decision(past.record.state, attempts=past.record.attempts, alerts=past.alerts)
        await self._new.update(past.key, lambda _: final)
        await self._copy_outputs(past.record.attempts)
        await self._settle(past.alerts)
        self.counts += Counter(
            {"jobs": 1, "attempts": len(past.attempts) + len(past.record.attempts), "skips": len(past.skips)}
        )
        self.counts["alerts"] += len(past.alerts)

    async def _copy_outputs(self, attempts: Sequence[Attempt]) -> None:
        found = [await self._old.output(*attempt.key) for attempt in attempts]
        outputs: list[Output] = [output for output in found if output is not None]
        await self._new.write_outputs(outputs)
        self.counts["outputs"] += len(outputs)

    async def _settle(self, alerts: Sequence[ChannelAlert]) -> None:
        """Copy the results of alerts that were sent or refused."""
        for alert in alerts:
            if alert.settled_at is not None:
                ids = (alert.alert.id,)
                await self._new.settle(alert.channel, ids, alert.state, alert.settled_at, alert.answer)


def _pages(things: Sequence[_T]) -> Iterator[tuple[_T, ...]]:
    left = iter(things)
    while page := tuple(islice(left, _PAGE)):
        yield page


def _just(state: State | None, attempts: tuple[Attempt, ...] = ()) -> DecideCommand:
    return lambda record: Decision(record.state if state is None else state, attempts=attempts)


def _never(record: Record) -> Decision:
    raise AssertionError(f"{record.job.key} is not removed by a copy")
