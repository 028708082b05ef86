"""What the ledger and the witness say, side by side: effects, attempts, runs."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from foliot.model.attempt import Attempt, Outcome, Trigger

_BY_SCHEDULE = (Trigger.SCHEDULE, Trigger.CATCH_UP)


class Effect(NamedTuple):
    """What the witness saw of one start."""

    run_key: str
    number: int
    token: int
    node: str
    start: datetime
    end: datetime | None


class Row(NamedTuple):
    """One attempt in the ledger, and what the witness saw of it."""

    attempt: Attempt
    run_key: str
    seen: tuple[Effect, ...]

    def __str__(self) -> str:
        return f"{self.run_key} #{self.number}"

    @property
    def number(self) -> int:
        return self.attempt.number

    @property
    def at(self) -> datetime:
        """The occurrence that it is for."""
        return self.attempt.scheduled_for

    @property
    def trigger(self) -> Trigger:
        return self.attempt.trigger

    @property
    def outcome(self) -> Outcome | None:
        return self.attempt.outcome

    @property
    def claimed(self) -> datetime | None:
        return self.attempt.claimed_at

    @property
    def finished(self) -> datetime | None:
        return self.attempt.finished_at

    @property
    def instants(self) -> tuple[datetime | None, ...]:
        """All that is known about when it happened."""
        return self.at, self.claimed, self.finished, self.start, self.end

    @property
    def start(self) -> datetime | None:
        """When it started, by its witness."""
        return self.seen[0].start if self.seen else None

    @property
    def end(self) -> datetime | None:
        """When it ended, by its witness."""
        return self.seen[-1].end if self.seen else None


class Run(NamedTuple):
    """The rows of one run, by number."""

    key: str
    rows: tuple[Row, ...]

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def at(self) -> datetime:
        """The occurrence that it is for."""
        return self.first.at

    @property
    def is_scheduled(self) -> bool:
        """Whether an occurrence made it, and no person."""
        return self.first.number == 1 and self.first.trigger in _BY_SCHEDULE

    def retries(self, last: Row) -> int:
        """How many retries there were up to a row, since a person asked for it, if one did."""
        count = 0
        for row in self.rows:
            if row.number <= last.number:
                count = 0 if row.trigger is Trigger.BACKFILL else count + (row.trigger is Trigger.RETRY)
        return count

    def losses(self, last: Row) -> int:
        """How many rows in a row were lost, up to one."""
        count = 0
        for row in self.rows:
            if row.number <= last.number:
                count = count + 1 if row.outcome is Outcome.LOST else 0
        return count
