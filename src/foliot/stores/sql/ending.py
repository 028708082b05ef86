"""Endings and losses: what becomes of attempts that somebody held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from foliot.model.attempt import Ending, Refused
from foliot.model.decision import Decision, Event, set_aside
from foliot.protocols import DecideEnded, DecideLost, Finished
from foliot.stores.matching import by_job, in_order, part_held
from foliot.stores.sql.batch import WriteBatch
from foliot.stores.sql.codes import whole
from foliot.stores.sql.entry import Entry
from foliot.stores.sql.gc_paused import gc_paused
from foliot.stores.sql.rows import Row, request_text


class Report(NamedTuple):
    """What a node reports."""

    node: str
    endings: Sequence[Ending]
    now: datetime
    decide: DecideEnded

    @property
    def jobs(self) -> set[str]:
        """The keys of the jobs that it is about."""
        return {ending.job for ending in self.endings}


def finish(batch: WriteBatch, entries: Mapping[str, Entry], report: Report) -> Finished:
    """Record how attempts ended; one counts only if it is open under its own node and token."""
    with gc_paused():
        return _finish(batch, entries, report)


def _finish(batch: WriteBatch, entries: Mapping[str, Entry], report: Report) -> Finished:
    node, endings, now, decide = report
    refused: list[Refused] = []
    events: list[Event] = []
    for job, reported in by_job(endings).items():
        entry = entries.get(job)
        held, others = part_held(None if entry is None else entry.record, reported, node)
        refused += others
        if entry is None or not held:
            continue
        decision = batch.decide(entry, decide, held, now)
        if decision is None:
            refused += (Refused(ending, "the job was set aside") for ending in held)
            events.append(set_aside(entry.key, now, entry.damage))
        else:
            events += decision.events
    batch.flush()
    return Finished(in_order(refused, endings), tuple(events))


def lose(
    batch: WriteBatch, entries: Mapping[int, Entry], lost: Sequence[Row], now: datetime, decide: DecideLost
) -> tuple[Event, ...]:
    """Attempts of the dead are lost; each is named by its job's number, its moment, request and number."""
    events: list[Event] = []
    by_number: dict[int, set[Row]] = {}
    for job_no, *name in lost:
        by_number.setdefault(job_no, set()).add(tuple(name))
    for job_no, names in by_number.items():
        entry = entries.get(job_no)
        decision = None if entry is None else _lose_some(batch, entry, names, now, decide)
        if decision is not None:
            events += decision.events
        elif entry is not None and entry.damage is not None and not entry.is_unknown_here:
            events.append(set_aside(entry.key, now, entry.damage))
    batch.flush()
    return tuple(events)


def _lose_some(
    batch: WriteBatch, entry: Entry, names: set[Row], now: datetime, decide: DecideLost
) -> Decision | None:
    """Some attempts of a job are lost; None if the job is set aside, or all have ended meanwhile."""
    if entry.record is None:
        is_damaged = entry.damage is not None and not entry.is_unknown_here
        return batch.decide(entry, decide, (), now) if is_damaged else None
    keys = [
        attempt.key
        for attempt in entry.record.attempts
        if (whole(attempt.scheduled_for), request_text(attempt.request), attempt.number) in names
    ]
    return batch.decide(entry, decide, keys, now) if keys else None
