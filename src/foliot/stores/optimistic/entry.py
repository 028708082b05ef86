"""One job as it was read: its record, the mark that guards it, and the counts of its history."""

from __future__ import annotations

from typing import NamedTuple

from foliot.model.attempt import Attempt
from foliot.model.damage import Damage, Flaw
from foliot.model.decision import Decision
from foliot.model.policy import Keep
from foliot.model.state import Record, Skip, State
from foliot.stores.retention import first_look
from foliot.stores.sql.codes import DAY, whole

ABSENT = ""  # the mark of a job that is not there
Name = tuple[object, int]


def name_of(attempt: Attempt) -> Name:
    """The name of an attempt within its job. It makes no text, because each run needs it several times."""
    return attempt.request or attempt.scheduled_for, attempt.number


class Tally(NamedTuple):
    """Counters of a job's history, known without reading it. Instants are in microseconds.

    `opened` counts attempts, and numbers them in the order of their opening. `entries` counts attempts and
    skips. The history is worth a look when `entries` reaches `trim_at`, or at the time `look_at`. `newest` is
    the latest occurrence that was opened.
    """

    opened: int = 0
    entries: int = 0
    trim_at: int | None = None
    look_at: int | None = None
    newest: int | None = None
    last_success: int | None = None

    def grown(self, keep: Keep, entries: int) -> Tally:
        """Count new attempts and skips."""
        if not entries:
            return self
        opened, known, trim_at, look_at, newest, last_success = self
        trim_at = first_look(keep) if trim_at is None else trim_at
        return Tally(opened, known + entries, trim_at, look_at, newest, last_success)

    def aged(self, keep: Keep, end: int) -> Tally:
        """Note when an attempt that ended at `end` will be too old to be kept."""
        if keep.days is None:
            return self
        too_old, known = end + keep.days * DAY, self.look_at
        return self if known is not None and known <= too_old else self._replace(look_at=too_old)

    @property
    def ripe_at(self) -> int | None:
        """When the history is worth a look; 0 means now, None means not in the near future."""
        is_full = self.trim_at is not None and self.entries >= self.trim_at
        return 0 if is_full else self.look_at

    def skipped(self, keep: Keep, skips: tuple[Skip, ...]) -> Tally:
        """Count new skips."""
        tally = self.grown(keep, len(skips))
        for skip in skips:
            tally = tally.aged(keep, whole(skip.last))
        return tally


class Entry:
    """A job that was read. `record` is None if there is no such job, or if it cannot be read (`damage`).

    `remains`: the state and the open attempts of a job whose definition cannot be read. `orders`: the order
    of opening of each open attempt. `place`: the position among due jobs, if it was found there.
    """

    __slots__ = ("damage", "key", "mark", "orders", "place", "record", "remains", "tally")

    def __init__(
        self,
        key: str,
        mark: str = ABSENT,
        record: Record | None = None,
        tally: Tally | None = None,
        orders: tuple[int, ...] = (),
    ) -> None:
        self.key = key
        self.mark = mark
        self.record = record
        self.tally = tally or Tally()
        self.orders = orders
        self.damage: Damage | None = None
        self.place = ""
        self.remains: tuple[State, tuple[Attempt, ...]] | None = None

    @property
    def is_there(self) -> bool:
        """Whether the store has this job, readable or not."""
        return self.mark != ABSENT

    @property
    def is_unknown_here(self) -> bool:
        """Whether another node may understand the definition: then the job is not set aside."""
        return self.damage is not None and self.damage.flaw is Flaw.UNKNOWN_HERE

    @property
    def is_damaged(self) -> bool:
        """Whether the job must be set aside."""
        return self.damage is not None and not self.is_unknown_here

    def opens_anew(self, decision: Decision) -> list[Attempt]:
        """The attempts of a decision, open or ended, that are not in the record."""
        known = {name_of(attempt) for attempt in self.record.attempts} if self.record else set()
        return [attempt for attempt in decision.attempts if name_of(attempt) not in known]
