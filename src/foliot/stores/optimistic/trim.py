"""Computes what to delete of a job's history, and when to look again: without the database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from foliot.model.attempt import Outcome
from foliot.model.policy import Keep
from foliot.stores.optimistic.change import Change, Past
from foliot.stores.optimistic.entry import Entry, Tally
from foliot.stores.retention import SLACK, next_look, superfluous, superfluous_skips
from foliot.stores.sql.codes import DAY, micros, whole

# An open attempt may be superfluous when it has ended.
_SOON = timedelta(minutes=10) // timedelta(microseconds=1)


class Trim(NamedTuple):
    """The part of a history to delete, the change of the counters, and whether this is all."""

    gone: Past
    change: Change
    is_all: bool

    @property
    def forgotten(self) -> int:
        """How many attempts and skips are deleted."""
        return len(self.gone.attempts) + len(self.gone.skips)


def trim_of(entry: Entry, past: Past, now: int, room: int, most: int | None = None) -> Trim:
    """The history of a readable job that its policy does not keep, at most `room` rows.

    `most`: the job keeps no more attempts than this, whatever its policy says.
    """
    record = entry.record
    if record is None:
        raise ValueError(f"{entry.key}: its history cannot be judged, because its record cannot be read")
    keep = record.job.policy.keep
    if most is not None:
        keep = replace(keep, last=most if keep.last is None else min(most, keep.last))
    gone = _surplus(past, entry, keep, None if keep.days is None else now - keep.days * DAY)
    is_all = len(gone.attempts) + len(gone.skips) <= room
    attempts = gone.attempts[:room]
    gone = Past(attempts, gone.skips[: room - len(attempts)])
    tally = _next(entry, _without(past, gone), now) if is_all else entry.tally
    change = Change(entry=entry, before=record, after=record, tally=tally, orders=entry.orders)
    return Trim(gone, change, is_all)


def _surplus(past: Past, entry: Entry, keep: Keep, since: int | None) -> Past:
    """The part that is not kept, the oldest first."""
    by_order = {order: attempt for attempt, order in past.attempts}
    ended = [(n, micros(a.finished_at), a.outcome is Outcome.SUCCEEDED) for n, a in by_order.items()]
    orders = sorted(superfluous(ended, entry.tally.opened, keep, since))
    skips = sorted(past.skips, key=lambda skip: (skip.first, skip.last))
    places = superfluous_skips([whole(skip.last) for skip in skips], keep, since)
    return Past(tuple((by_order[n], n) for n in orders), tuple(skips[place] for place in places))


def _without(past: Past, gone: Past) -> Past:
    orders, skips = {order for _, order in gone.attempts}, set(gone.skips)
    return Past(
        tuple(pair for pair in past.attempts if pair[1] not in orders),
        tuple(skip for skip in past.skips if skip not in skips),
    )


def _next(entry: Entry, kept: Past, now: int) -> Tally:
    """When the history is worth the next look."""
    tally = entry.tally
    if entry.record is None:
        return tally
    keep = entry.record.job.policy.keep
    trim_at = tally.entries + next_look(keep, len(kept.attempts) + len(kept.skips))
    ends = [micros(attempt.finished_at) for attempt, _ in kept.attempts]
    ends += [whole(skip.last) for skip in kept.skips]
    cut = tally.opened - (keep.last or 0)
    soon = [now + _SOON] if any(order <= cut for order in entry.orders) else []
    if (old := [end for end in ends if end is not None]) and keep.days is not None:
        soon.append(max(min(old) + keep.days * DAY, now + keep.days * DAY // SLACK))
    return tally._replace(trim_at=trim_at, look_at=min(soon, default=None))
