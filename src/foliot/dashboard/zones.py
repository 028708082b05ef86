"""The zones of jobs, for pages that tell of several jobs at once."""

from __future__ import annotations

from collections.abc import Iterable

from foliot.api.call import Call
from foliot.protocols import JobQuery
from foliot.why import zone_of


async def zones_of(call: Call, jobs: Iterable[str]) -> dict[str, str]:
    """The zone of each job that has one of its own; the others are told in UTC."""
    keys = frozenset(jobs)
    if not keys:
        return {}
    views = await call.ops.store.jobs(JobQuery(keys=keys, with_removed=True, limit=len(keys)))
    known = ((view.key, zone_of(view.record.job.schedule)) for view in views if view.record is not None)
    return {key: zone for key, zone in known if zone}
