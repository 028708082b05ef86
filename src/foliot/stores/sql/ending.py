"""Endings and losses: what becomes of attempts that somebody held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from foliot.model.attempt import Ending, Refused
from foliot.model.decision import Decision, Event, set_aside
from foliot.protocols import DecideEnded, DecideLost, Finished
from foliot.stores.matching import is_held
from foliot.stores.sql.book import Book, Entry
from foliot.stores.sql.codes import whole
from foliot.stores.sql.rows import Row, request_text
from foliot.stores.sql.uncollected import uncollected

_NOT_HELD = "the attempt is not open under that node and token"


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


def finish(book: Book, entries: Mapping[str, Entry], report: Report) -> Finished:
    """Record how attempts ended; one counts only if it is open under its own node and token."""
    with uncollected():
        return _finish(book, entries, report)


def _finish(book: Book, entries: Mapping[str, Entry], report: Report) -> Finished:
    node, endings, now, decide = report
    refused: list[Refused] = []
    events: list[Event] = []
    for ending in endings:
        entry = entries.get(ending.job)
        record = entry.record if entry is not None else None
        if entry is None or record is None or not is_held(record, ending, node):
            refused.append(Refused(ending, _NOT_HELD))
            continue
        decision = book.decide(entry, decide, ending, now)
        if decision is None:
            refused.append(Refused(ending, "the job was set aside"))
            events.append(set_aside(entry.key, now, entry.damage))
        else:
            events += decision.events
    book.flush()
    return Finished(tuple(refused), tuple(events))


def lose(
    book: Book, entries: Mapping[int, Entry], lost: Sequence[Row], now: datetime, decide: DecideLost
) -> tuple[Event, ...]:
    """Attempts of the dead are lost; each is named by its job's number, its moment, request and number."""
    events: list[Event] = []
    for job_no, *name in lost:
        entry = entries.get(job_no)
        decision = None if entry is None else _lose_one(book, entry, name, now, decide)
        if decision is not None:
            events += decision.events
        elif entry is not None and entry.damage is not None:
            events.append(set_aside(entry.key, now, entry.damage))
    book.flush()
    return tuple(events)


def _lose_one(
    book: Book, entry: Entry, name: list[object], now: datetime, decide: DecideLost
) -> Decision | None:
    """One attempt of a job is lost; None if the job is set aside, or the attempt has ended meanwhile."""
    if entry.record is None:
        return book.decide(entry, decide, "", 0, now) if entry.damage else None
    for attempt in entry.record.attempts:
        if [whole(attempt.scheduled_for), request_text(attempt.request), attempt.number] == name:
            return book.decide(entry, decide, attempt.run_key, attempt.number, now)
    return None
