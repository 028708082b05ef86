"""Reads all data of one job from a store: its record, its definitions, its history."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import NamedTuple

from foliot.engine.planner import plan_lost
from foliot.model.attempt import Attempt
from foliot.model.outbox import is_forgotten
from foliot.model.state import Record, Skip
from foliot.model.version import Version
from foliot.protocols import AlertQuery, ChannelAlert, JobView, RunQuery, SkipQuery
from foliot.wiring import FullStore

PAGE = 500


class Past(NamedTuple):
    """All data of one job, oldest first. In `record` the attempts of dead nodes are lost already."""

    record: Record
    versions: tuple[Version, ...]
    attempts: tuple[Attempt, ...]
    skips: tuple[Skip, ...]
    alerts: tuple[ChannelAlert, ...]

    @property
    def key(self) -> str:
        """The job."""
        return self.record.job.key


async def read_past(store: FullStore, view: JobView, now: datetime) -> Past | None:
    """Read all data of a job; None if the job cannot be read."""
    if view.record is None:
        return None
    record, lost = without_the_dead(view.record, now)
    ended = [attempt async for attempt in every_attempt(store, view.key) if not attempt.is_open]
    ended = [attempt for attempt in ended if attempt.key not in {one.key for one in lost}]
    return Past(
        record,
        tuple(reversed(await store.versions(view.key))),
        tuple(sorted((*ended, *lost), key=_order)),
        tuple(reversed([skip async for skip in every_skip(store, view.key)])),
        tuple(reversed([alert async for alert in _alerts(store, view.key)])),
    )


def without_the_dead(record: Record, now: datetime) -> tuple[Record, tuple[Attempt, ...]]:
    """The record after its nodes are declared dead, and the attempts that end because of that."""
    held = [attempt.key for attempt in record.attempts if attempt.is_running]
    if not held:
        return record, ()
    decision = plan_lost(record, held, now)
    after = {attempt.key: attempt for attempt in (*record.attempts, *decision.attempts)}
    is_open = tuple(attempt for attempt in after.values() if attempt.is_open)
    return Record(record.job, decision.state, is_open), tuple(a for a in after.values() if not a.is_open)


def _order(attempt: Attempt) -> tuple[datetime, str, int]:
    return attempt.scheduled_for, attempt.request or "", attempt.number


async def every_attempt(store: FullStore, job: str) -> AsyncIterator[Attempt]:
    """All attempts of a job, newest first."""
    query = RunQuery(job=job, limit=PAGE)
    while True:
        page = await store.runs(query)
        for attempt in page:
            yield attempt
        if page.next is None:
            return
        query = query._replace(after=page.next)


async def every_skip(store: FullStore, job: str) -> AsyncIterator[Skip]:
    """All skips of a job, newest first."""
    query = SkipQuery(job=job, limit=PAGE)
    while True:
        page = await store.skips(query)
        for skip in page:
            yield skip
        if page.next is None:
            return
        query = query._replace(after=page.next)


async def _alerts(store: FullStore, job: str) -> AsyncIterator[ChannelAlert]:
    """The alerts of a job that a store keeps. It does not keep sent pings."""
    query = AlertQuery(job=job, limit=PAGE)
    while True:
        page = await store.alerts(query)
        for alert in page:
            if not is_forgotten(alert.alert.kind, alert.state):
                yield alert
        if page.next is None:
            return
        query = query._replace(after=page.next)
