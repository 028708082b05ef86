"""Makes the store equal to what a source declares."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from datetime import datetime
from hashlib import sha256
from types import EllipsisType
from typing import Protocol
from uuid import uuid4

from foliot.engine.convergence import Declared, other_marks, wanted
from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.errors import StaleRevisionError
from foliot.model.decision import Event
from foliot.model.job import Job
from foliot.protocols import Changes, JobQuery, JobView, NodeStore, Snapshot, Store

_PAGE = 1000


class _SharedStore(Store, NodeStore, Protocol):
    """A store that lists its running nodes."""


async def reconcile(
    store: Store,
    source: str,
    snapshot: Snapshot,
    now: datetime,
    *,
    base: str | EllipsisType | None = ...,
) -> Sequence[Event]:
    """Declare all jobs of a snapshot, and remove those that it no longer has: all or nothing.

    `base`: the snapshot is newer than this revision; by default, the store's present one. Raises
    StaleRevisionError if another node was faster; then read the source again.
    """
    if base is ...:
        base = await store.revision(source)
    if base == snapshot.revision:
        return ()
    stays = {job.name for job in snapshot.jobs}
    gone = tuple([name async for name, _ in _stored(store, source) if name not in stays])
    return await _write(store, source, base, snapshot.revision, Changes(snapshot.jobs, gone), now)


class Declarer:
    """Keeps the store equal to what this node declares, beside nodes of other revisions.

    `declared` returns the present declarations. `read` returns what a stored job says; None if unknown, and
    then the job is declared again. `is_writing`: the last step was a write, not a read.
    """

    def __init__(
        self, store: _SharedStore, declared: Callable[[], Declared], read: Callable[[JobView], Job | None]
    ) -> None:
        self._store = store
        self._declared = declared
        self._read = read
        self._agreed: tuple[frozenset[str], str | None] | None = None  # other marks, and the revision
        self._known: Collection[str] = ()  # names that this node has declared
        self.is_writing = False

    async def declare(self) -> Sequence[Event]:
        """Declare all jobs at the start of a node. Jobs that only other running revisions declare stay."""
        while True:
            try:
                return await self._settle(is_start=True)
            except StaleRevisionError:
                continue  # another node was faster; but this node started later, so it declares again

    async def look_again(self) -> Sequence[Event]:
        """React to nodes of other revisions that came, left, or declared something."""
        try:
            return await self._settle(is_start=False)
        except StaleRevisionError:
            return ()  # the next look finds what the other node has written

    async def _settle(self, *, is_start: bool) -> Sequence[Event]:
        self.is_writing = False
        declared, store = self._declared(), self._store
        base = await store.revision(declared.source)  # first: a later write makes it stale
        others = other_marks(declared.mark, await store.nodes())
        if not is_start and self._agreed == (others, base):
            return ()
        changes, kept, missing = await self._compare(declared, others, base, is_start=is_start)
        revision = _next_revision(declared, base, kept, has_changes=any(changes), has_others=bool(others))
        events: Sequence[Event] = ()
        if revision != base:
            self.is_writing = True
            now, known = await store.now(), self._known if missing else ()
            events = await _write(store, declared.source, base, revision, changes, now, known)
        self._agreed = others, revision
        self._known = declared.jobs
        return events

    async def _compare(
        self, declared: Declared, others: frozenset[str], base: str | None, *, is_start: bool
    ) -> tuple[Changes, list[str], bool]:
        """The jobs to write, the names to keep for other nodes, and whether known jobs are missing."""
        changed: list[Job] = []
        removed: list[str] = []
        kept: list[str] = []
        seen: set[str] = set()
        async for name, view in _stored(self._store, declared.source):
            seen.add(name)
            found = self._read(view)
            job = wanted(declared, others, name, found, is_start=is_start)
            if name not in declared.jobs:
                (kept if others else removed).append(name)
            if job is not None and (found is None or not job.says_the_same(found)):
                changed.append(job)
        is_new = is_start and base != declared.revision
        for name, mine in declared.jobs.items():
            # A job that removed itself is not missing. The planner decides about it, once for each revision.
            if name not in seen and (is_new or not mine.auto_remove):
                changed.append(wanted(declared, others, name, None, is_start=is_start) or mine)
        has_missing = any(name not in seen for name in self._known)
        return Changes(tuple(changed), tuple(removed)), kept, has_missing


def _next_revision(
    declared: Declared, base: str | None, kept: list[str], *, has_changes: bool, has_others: bool
) -> str | None:
    """The revision to write; `base` if there is nothing to write."""
    fresh = uuid4().hex
    if declared.revision is None:
        return f"{declared.mark.shared.partition(':')[0]}-{fresh[:20]}" if has_changes else base
    name = declared.revision
    if kept:
        digest = sha256("\n".join(sorted(kept)).encode()).hexdigest()
        name += f"-keeping-{digest[:8]}"
    if not has_changes:
        return base if has_others else name
    return f"{name}-{fresh[:8]}" if name == base else name


async def _write(  # noqa: PLR0913, PLR0917 - the facts of a revision
    store: Store,
    source: str,
    base: str | None,
    revision: str | None,
    changes: Changes,
    now: datetime,
    known: Collection[str] = (),
) -> Sequence[Event]:
    assert revision is not None  # noqa: S101 - only what a store has at first has no revision
    return await store.reconcile(
        source,
        base,
        revision,
        changes,
        declared=PlanDeclared(now, known),
        removed=lambda record: plan_removed(record, now),
    )


async def names_of(store: Store, source: str) -> list[str]:
    """The jobs that the store has of a source."""
    return [name async for name, _ in _stored(store, source)]


async def _stored(store: Store, source: str) -> AsyncIterator[tuple[str, JobView]]:
    after = ""
    while page := await store.jobs(JobQuery(source=source, after=after, limit=_PAGE)):
        for view in page:
            yield view.key.removeprefix(f"{source}/"), view
        after = page[-1].key
