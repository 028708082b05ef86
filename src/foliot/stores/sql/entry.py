"""One job within a call: its row, its open attempts, and its record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from foliot.errors import DamagedRecordError
from foliot.model.attempt import Attempt
from foliot.model.damage import Damage, Flaw
from foliot.model.policy import Keep
from foliot.model.state import Record, Skip
from foliot.stores.sql.codes import DAY, micros
from foliot.stores.sql.rows import ABSURD, ATTEMPT_COLUMNS, STATE_COLUMNS, Row

# ruff: noqa: S608 - made of constants only

STATE_OF_ENTRY = "s.lane_no, s.newest_at, s.opened, s.skipped, s.look_at, s.damage, " + ", ".join(
    f"s.{name}" for name in STATE_COLUMNS.split(", ")
)
ENTRY = f"s.job_no, j.key, j.frame, j.data, j.policy_no, {STATE_OF_ENTRY}"
ENTRIES = f"SELECT {ENTRY} FROM jobs AS j CROSS JOIN states AS s WHERE s.job_no = j.job_no"
BY_KEY = f"{ENTRIES} AND j.key IN :texts"
BY_NUMBER = f"{ENTRIES} AND j.job_no IN :these"
_OPEN = f"SELECT {', '.join(f'a.{name}' for name in ATTEMPT_COLUMNS.split(', '))}, a.ordinal"
OPEN_BY_KEY = f"""
    {_OPEN} FROM jobs AS j CROSS JOIN attempts AS a INDEXED BY attempts_open
    WHERE j.key IN :texts AND a.job_no = j.job_no AND a.state < 3
"""
OPEN_BY_NUMBER = f"""
    {_OPEN} FROM attempts AS a INDEXED BY attempts_open WHERE a.state < 3 AND a.job_no IN :these
"""
# Which of these jobs have an open attempt.
BUSY = "SELECT a.job_no FROM attempts AS a INDEXED BY attempts_open WHERE a.state < 3 AND a.job_no IN :these"

# The columns of an entry's row; the state's columns are the last.
LANE, NEWEST, OPENED, SKIPPED, LOOK_AT, DAMAGE, STATE = 5, 6, 7, 8, 9, 10, 11
REMOVED_AT = STATE + 6


def _counts(*names: str) -> str:
    """Whether columns of a state are counts. In SQLite a column may contain anything."""
    return " AND ".join(
        f"s.{name} = CAST(s.{name} AS bigint) AND s.{name} >= 0 AND s.{name} < {ABSURD}" for name in names
    )


def _is_before(name: str) -> str:
    return f"(s.{name} IS NULL OR s.{name} = CAST(s.{name} AS bigint) AND s.{name} < s.next_at)"


# What a claim reads of a state to start its job with a herd. The last column says whether the state is plain
# (only a next occurrence); 2: also without any problem, so that a success changes nothing.
STATE_OF_DUE = f"""
    s.wake_at, s.token, s.version, s.look_at,
    CASE WHEN s.wake_at = s.next_at AND s.next_at = CAST(s.next_at AS bigint)
    AND s.paused_at IS NULL AND s.removed_at IS NULL
    AND {_is_before("newest_at")} AND {_is_before("served_until")}
    AND {_counts("token", "fired_count", "failures_in_row", "opened", "version")}
    AND (s.look_at IS NULL OR s.look_at = CAST(s.look_at AS bigint))
    THEN CASE WHEN s.failures_in_row = 0 AND s.last_problem IS NULL THEN 2 ELSE 1 END ELSE 0 END
"""
DUE_ROW = f"s.job_no, j.key, j.frame, j.data, j.policy_no, {STATE_OF_DUE}"
DUE_AT, DUE_TOKEN, DUE_VERSION, DUE_LOOK_AT, DUE_PLAIN = 5, 6, 7, 8, 9  # positions in such a row


class Place(NamedTuple):
    """A position in the order of due jobs."""

    wake_at: int
    job_no: int


FIRST = Place(-(2**63), -(2**63))


class Entry:
    """One job, as it was read and decided about. `record` is None if it cannot be read."""

    __slots__ = (
        "damage", "job_no", "key", "look_at", "newest", "open_rows", "opened", "ordinal", "record", "row",
        "skipped",
    )  # fmt: skip

    def __init__(self, row: Row, open_rows: Sequence[Row]) -> None:
        self.row = row
        self.open_rows = open_rows
        self.job_no: int = row[0]
        self.key: str = row[1]
        self.newest: int | None = row[NEWEST]
        self.opened: int = row[OPENED]  # attempts so far, and skips: see `prune`
        self.skipped: int = row[SKIPPED]
        self.look_at: int | None = row[LOOK_AT]
        told: str | None = row[DAMAGE]
        self.damage = None if told is None else Damage(told)
        self.ordinal = -1
        self.record: Record | None = None

    def check_counts(self) -> None:
        """Raise DamagedRecordError if the counters of its history are invalid."""
        opened, skipped, look_at = self.opened, self.skipped, self.look_at
        if type(opened) is not int or not 0 <= opened < ABSURD:
            raise DamagedRecordError("opened", opened, "must be a count")
        if type(skipped) is not int or not 0 <= skipped < ABSURD:
            raise DamagedRecordError("skipped", skipped, "must be a count")
        if look_at is not None and type(look_at) is not int:
            raise DamagedRecordError("look_at", look_at, "must be an instant")

    def mend_counts(self) -> None:
        """Reset invalid counters of its history, so that the history is looked at soon."""
        try:
            self.check_counts()
        except DamagedRecordError:
            self.opened, self.skipped, self.look_at = 0, 0, 0

    def age(self, keep: Keep, attempts: Iterable[Attempt], skips: Iterable[Skip]) -> None:
        """Note when the oldest attempt or skip will be too old."""
        if keep.days is None:
            return
        ends = [micros(attempt.finished_at or attempt.claimed_at) for attempt in attempts]
        ends += [micros(skip.last) for skip in skips]
        known = [at + keep.days * DAY for at in ends if at is not None]
        if self.look_at is not None:
            known.append(self.look_at)
        self.look_at = min(known, default=None)

    @property
    def is_unknown_here(self) -> bool:
        """Whether another node may understand the definition; then the job is not set aside."""
        return self.damage is not None and self.damage.flaw is Flaw.UNKNOWN_HERE

    @property
    def place(self) -> Place:
        """Its position in the order of due jobs."""
        return Place(self.row[STATE + 2], self.job_no)
