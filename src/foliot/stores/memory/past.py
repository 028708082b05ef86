"""Ended attempts and skips of the memory store, for as long as policies keep them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.policy import Keep
from foliot.model.state import Skip
from foliot.stores.matching import Key
from foliot.stores.retention import SLACK, first_look, next_look, superfluous, superfluous_skips

_END = datetime.max.replace(tzinfo=UTC)
_SOON = timedelta(minutes=10)  # an open attempt may be deleted when it has ended


# An ended attempt as a tuple of plain values. The garbage collector does not track such tuples, but it would
# check every Attempt object again and again.
Packed = tuple[str | int | datetime | None, ...]
_TRIGGER, _STATE, _FINISHED_AT, _OUTCOME = map(
    Attempt._fields.index, ("trigger", "state", "finished_at", "outcome")
)
_SUCCEEDED = Outcome.SUCCEEDED.value


class Past:
    """The history of one job. `opened` numbers its attempts in the order in which they were opened."""

    def __init__(self, keep: Keep) -> None:
        self.keep = keep
        self.attempts: dict[Key, Packed] = {}
        self.skips: dict[tuple[datetime, datetime], Skip] = {}
        self.orders: dict[Key, int] = {}
        self.opened = 0
        self.entries = 0  # attempts and skips, so far
        self.trim_at = first_look(keep)
        self.look_at: datetime | None = None
        self.last_success_at: datetime | None = None

    def ended(self) -> Iterator[Attempt]:
        """The attempts that ended."""
        return map(_unpacked, self.attempts.values())

    def _end_of(self, key: Key) -> tuple[datetime | None, bool]:
        """When an attempt ended, and whether it succeeded."""
        packed = self.attempts[key]
        at = packed[_FINISHED_AT]
        return at if isinstance(at, datetime) else None, packed[_OUTCOME] == _SUCCEEDED

    def note(self, decision: Decision) -> None:
        """Note what a decision has opened, ended and skipped."""
        for attempt in decision.attempts:
            if attempt.key not in self.orders:
                self.opened += 1
                self.entries += 1
                self.orders[attempt.key] = self.opened
            if not attempt.is_open:
                self.attempts[attempt.key] = _packed(attempt)
                self._note_end(attempt)
        for skip in decision.skips:
            self.entries += 1
            self.skips[skip.first, skip.last] = skip
            self._note_age(skip.last)

    def _note_end(self, attempt: Attempt) -> None:
        ended_at = attempt.finished_at
        if ended_at is not None:
            self._note_age(ended_at)
            if attempt.outcome is Outcome.SUCCEEDED:
                self.last_success_at = max(ended_at, self.last_success_at or ended_at)

    def _note_age(self, ended_at: datetime) -> None:
        if self.keep.days is not None:
            at = _later(ended_at, timedelta(days=self.keep.days))
            self.look_at = at if self.look_at is None else min(at, self.look_at)

    def is_worth_a_look(self, now: datetime) -> bool:
        """Whether the history is so long or so old that some of it must be deleted."""
        return self.entries >= self.trim_at or (self.look_at is not None and self.look_at <= now)

    def forget(self, now: datetime, room: int) -> tuple[list[Key], int]:
        """Delete at most `room` rows. Returns the keys of attempts, and the number of skips."""
        keep = self.keep
        since = None if keep.days is None else now - timedelta(days=keep.days)
        by_order = {self.orders[key]: key for key in self.attempts}
        ended = [(n, *self._end_of(key)) for n, key in by_order.items()]
        gone = sorted(superfluous(ended, self.opened, keep, since))
        ordered = sorted(self.skips.values(), key=lambda skip: (skip.first, skip.last))
        places = superfluous_skips([skip.last for skip in ordered], keep, since)
        skips = [ordered[place] for place in places]
        is_all = len(gone) + len(skips) <= room
        keys = [by_order[order] for order in gone[:room]]
        for key in keys:
            del self.attempts[key], self.orders[key]
        skips = skips[: room - len(keys)]
        for skip in skips:
            del self.skips[skip.first, skip.last]
        if is_all:
            self._set_next(now)
        return keys, len(skips)

    def _set_next(self, now: datetime) -> None:
        self.trim_at = self.entries + next_look(self.keep, len(self.attempts) + len(self.skips))
        ends = [at for at, _ in map(self._end_of, self.attempts) if at is not None]
        ends += [skip.last for skip in self.skips.values()]
        cut = self.opened - (self.keep.last or 0)
        is_open = any(n <= cut for key, n in self.orders.items() if key not in self.attempts)
        soon = _later(now, _SOON) if is_open else None
        self.look_at = soon
        if ends and self.keep.days is not None:
            kept_for = timedelta(days=self.keep.days)
            later = max(_later(min(ends), kept_for), _later(now, kept_for / SLACK))
            self.look_at = later if soon is None else min(soon, later)


def _packed(attempt: Attempt) -> Packed:
    values = list(attempt)
    values[_TRIGGER], values[_STATE] = attempt.trigger.value, attempt.state.value
    values[_OUTCOME] = None if attempt.outcome is None else attempt.outcome.value
    return tuple(values)


def _unpacked(packed: Packed) -> Attempt:
    attempt = Attempt._make(packed)
    outcome = None if attempt.outcome is None else Outcome(attempt.outcome)
    return attempt._replace(trigger=Trigger(attempt.trigger), state=AttemptState.ENDED, outcome=outcome)


def _later(at: datetime, span: timedelta) -> datetime:
    """So much later, or at the end of the calendar."""
    return at + min(span, _END - at)


class Pasts:
    """The histories of all jobs, and which of them are worth a look."""

    def __init__(self) -> None:
        self._pasts: dict[str, Past] = {}
        self._ripe: dict[str, None] = {}
        self._old: list[tuple[datetime, str]] = []  # a heap; outdated entries are ignored

    def of(self, job: str) -> Past:
        """The history of a job; an empty one, if it has none."""
        return self._pasts.get(job) or Past(_KEEPS_ALL)

    def note(self, job: Job, decision: Decision) -> None:
        """Take over what a decision about a job has opened, ended and skipped."""
        past, keep = self._pasts.get(job.key), job.policy.keep
        if past is None:
            if not decision.attempts and not decision.skips:
                return
            past = self._pasts[job.key] = Past(keep)
        look_at = past.look_at
        if past.keep != keep:
            past.keep, past.trim_at = keep, 0
        past.note(decision)
        if past.entries >= past.trim_at:
            self._ripe[job.key] = None
        if past.look_at is not None and past.look_at != look_at:
            heappush(self._old, (past.look_at, job.key))

    def forget(self, job: str) -> set[Key]:
        """Forget a job that was removed; the keys of its attempts."""
        past = self._pasts.pop(job, None)
        self._ripe.pop(job, None)
        return set() if past is None else set(past.orders)

    def prune(self, now: datetime, limit: int) -> tuple[list[Key], int, bool]:
        """Delete some history: returns attempts, the number of skips, and whether more is left."""
        keys: list[Key] = []
        skips = 0
        for job in list(self._due(now)):
            if (room := limit - len(keys) - skips) <= 0:
                return keys, skips, True
            past = self._pasts[job]
            runs, count = past.forget(now, room)
            keys, skips = keys + runs, skips + count
            if past.is_worth_a_look(now):
                return keys, skips, True
            self._ripe.pop(job, None)
            if past.look_at is not None:
                heappush(self._old, (past.look_at, job))
        return keys, skips, bool(keys or skips)

    def _due(self, now: datetime) -> Iterator[str]:
        while self._old and self._old[0][0] <= now:
            at, job = heappop(self._old)
            past = self._pasts.get(job)
            if past is not None and past.look_at == at:
                self._ripe[job] = None
        yield from self._ripe


_KEEPS_ALL = Keep(last=None, days=None)
