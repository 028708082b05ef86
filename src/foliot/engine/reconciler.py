"""Makes the store agree with what a source declares."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from types import EllipsisType

from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.model.decision import Event
from foliot.protocols import Changes, JobQuery, Snapshot, Store

_PAGE = 1000


async def reconcile(  # noqa: PLR0913 - what there is, and what the caller knows about it
    store: Store,
    source: str,
    snapshot: Snapshot,
    now: datetime,
    *,
    base: str | EllipsisType | None = ...,
    keep: Collection[str] = (),
) -> tuple[Event, ...]:
    """Declare all jobs of a snapshot, and remove those that it no longer has: all or nothing.

    `base` is the revision that the snapshot is known to be newer than; without one, what the store has now.
    `keep`: names that are not removed though the snapshot does not have them.
    StaleRevisionError if another node was quicker; then the source is to be read again.
    """
    if base is ...:
        base = await store.revision(source)
    if base == snapshot.revision:
        return ()
    stays = {job.name for job in snapshot.jobs}.union(keep)
    gone = tuple(name for name in await names_of(store, source) if name not in stays)
    return await store.reconcile(
        source,
        base,
        snapshot.revision,
        Changes(snapshot.jobs, gone),
        declared=lambda job, record: plan_declared(job, record, now),
        removed=lambda record: plan_removed(record, now),
    )


async def names_of(store: Store, source: str) -> list[str]:
    """The jobs that the store has of a source."""
    names: list[str] = []
    after = ""
    while page := await store.jobs(JobQuery(source=source, after=after, limit=_PAGE)):
        names += (view.key.removeprefix(f"{source}/") for view in page)
        after = page[-1].key
    return names
