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
from foliot.operations.copying.walk import entries_of
from foliot.protocols import AlertQuery, ChannelAlert, JobView, RunQuery, SkipQuery
from foliot.wiring import FullStore


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
    not_ended = {attempt.key for attempt in lost}  # in the store
    ended = [
        attempt
        async for attempt in every_attempt(store, view.key)
        if not attempt.is_open and attempt.key not in not_ended
    ]
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


def every_attempt(store: FullStore, job: str) -> AsyncIterator[Attempt]:
    """All attempts of a job, newest first."""
    return entries_of(store.runs, RunQuery(job=job))


def every_skip(store: FullStore, job: str) -> AsyncIterator[Skip]:
    """All skips of a job, newest first."""
    return entries_of(store.skips, SkipQuery(job=job))


async def _alerts(store: FullStore, job: str) -> AsyncIterator[ChannelAlert]:
    """The alerts of a job that a store keeps. It does not keep sent pings."""
    async for alert in entries_of(store.alerts, AlertQuery(job=job)):
        if not is_forgotten(alert.alert.kind, alert.state):
            yield alert
