"""Compares a copy with its original: reads both stores once more, job by job."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from typing import Any

from foliot.model.query import AuditQuery, PipelineQuery, TokenQuery
from foliot.operations.copying.past import Past, read_past
from foliot.operations.copying.walk import PAGE
from foliot.protocols import JobQuery, JobView
from foliot.wiring import FullStore


async def differences(old: FullStore, new: FullStore, now: datetime) -> AsyncIterator[str]:
    """The differences of the copy, in words; none if it is the same."""
    query = JobQuery(with_removed=True, limit=PAGE)
    while page := await old.jobs(query):
        keys = frozenset(view.key for view in page)
        copies = {view.key: view for view in await new.jobs(query._replace(keys=keys))}
        for view in page:
            async for text in _of_job(old, new, view, copies.get(view.key), now):
                yield text
        query = query._replace(after=page[-1].key)
    ours, theirs = await _beside(old), await _beside(new)
    for name in ours:
        if ours[name] != theirs[name]:
            yield name


async def _beside(store: FullStore) -> dict[str, tuple[Any, ...]]:
    """The data that is no job. Of long lists only the newest page is compared."""
    found = {"sources": await store.sources(), "tokens": tuple(await store.tokens(TokenQuery(limit=PAGE)))}
    found["the audit"] = tuple(await store.audit(AuditQuery(limit=PAGE)))
    return found | {"pipelines": tuple(await store.pipelines(PipelineQuery(limit=PAGE)))}


async def _of_job(
    old: FullStore, new: FullStore, view: JobView, copy: JobView | None, now: datetime
) -> AsyncIterator[str]:
    ours = await read_past(old, view, now)
    if ours is None:  # it cannot be read, so it was not copied
        return
    theirs = None if copy is None else await read_past(new, copy, now)
    if theirs is None:
        yield f"{view.key} is missing"
        return
    for name in Past._fields:
        mine, copied = (_comparable(getattr(past, name)) for past in (ours, theirs))
        if mine != copied:
            yield f"{view.key}: {name}"
    for attempt in (*ours.attempts, *ours.record.attempts):
        if await old.output(*attempt.key) != await new.output(*attempt.key):
            yield f"the output of {attempt.run_key} #{attempt.number}"


def _comparable(value: Any) -> Any:
    """A value for comparison: a collection is sorted, because its order does not count."""
    is_record = hasattr(value, "job")
    return value if is_record or not isinstance(value, Iterable) else sorted(map(repr, value))
