"""Foliot's own jobs, which send alerts: lists and counts of a person's jobs leave them out.

Their source names them: who asks for it sees them. One that is damaged is shown to all.
"""

from __future__ import annotations

from foliot.model.alert import OWN_SOURCE
from foliot.model.query import MOST_LOOKED_AT, JobPage, JobQuery, JobView
from foliot.model.view import Overview
from foliot.wiring import FullStore

_PREFIX = f"{OWN_SOURCE}/"


def is_own(view: JobView) -> bool:
    """Whether Foliot itself declares a job, and the job is well."""
    return view.key.startswith(_PREFIX) and view.damage is None and view.record is not None


async def list_jobs(store: FullStore, query: JobQuery) -> JobPage:
    """A page of jobs: without Foliot's own, unless their source or keys are asked for."""
    page = await store.jobs(query)
    if query.source is not None or query.keys is not None:
        return page
    found, is_whole = _without_own(page)
    while not is_whole and page.next is not None and len(found) < query.limit:
        page = await store.jobs(query._replace(after=page.next, limit=query.limit - len(found)))
        others, is_whole = _without_own(page)
        found += others
    return JobPage(found, page.next)


def _without_own(page: JobPage) -> tuple[list[JobView], bool]:
    """The jobs of people, and whether these are all."""
    others = [view for view in page if not is_own(view)]
    return others, len(others) == len(page)


async def count_jobs(store: FullStore) -> Overview:
    """The overview of a store, with the counts of a person's jobs."""
    seen = await store.overview()
    views = await store.jobs(JobQuery(source=OWN_SOURCE, limit=MOST_LOOKED_AT))
    own = [view.record for view in views if is_own(view) and view.record is not None]
    # A store may count jobs by source, and count them anew only after a while: so the two numbers are alike.
    counted = sum(view.jobs for view in await store.sources() if view.source == OWN_SOURCE)
    return seen._replace(
        # What changes between the two looks must not make a count negative.
        jobs=max(0, seen.jobs - max(0, counted - (len(views) - len(own)))),
        open_attempts=max(0, seen.open_attempts - sum(len(record.attempts) for record in own)),
        paused=max(0, seen.paused - sum(record.state.paused_at is not None for record in own)),
        failing=max(0, seen.failing - sum(record.state.failures_in_row > 0 for record in own)),
    )
