"""Herds: jobs that are alike and due at the same time are started and ended together.

The planner decides once about all jobs of one definition whose next occurrence is the same (`Alike`). Two
statements write the decision for hundreds of jobs. A run of a herd has only the fields that a successful run
needs. A job takes this way if its record is *plain*: see `STATE_OF_DUE`. All others are read, decided about
and written one by one, in the same claim.

When runs of a herd succeed, one statement ends the attempts of all jobs that have not changed since they
started. A job has not changed if its state has the same token: every decision about a job changes the token.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from foliot.model.alike import ON_TIME
from foliot.model.attempt import AttemptState, Ending, Outcome, Trigger
from foliot.model.events import HerdStarted
from foliot.model.json_text import read_objects
from foliot.model.run import Run
from foliot.stores.herd import Herd, HerdRun, Herds, HerdStart, started
from foliot.stores.sql.codes import DAY, OUTCOME_CODES, STATE_CODES, TRIGGER_CODES, micros, whole
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.entry import DUE_AT, DUE_LOOK_AT, DUE_PLAIN, DUE_TOKEN, DUE_VERSION
from foliot.stores.sql.rows import Row

# ruff: noqa: S608 - made of constants only

_FRAME, _DATA, _POLICY = 2, 3, 4  # of a row
_AND_WELL = 2  # see `STATE_OF_DUE`
_RUNNING, _ENDED = STATE_CODES[AttemptState.RUNNING], STATE_CODES[AttemptState.ENDED]

FIND_STARTED = """
    SELECT v.job_no FROM v WHERE 1 = (
        SELECT 1 FROM attempts AS a
        WHERE a.scheduled_for = v.at AND a.job_no = v.job_no AND a.request = '' AND a.number = 1
    )
"""
STARTED = ("job_no", "place", "deadline")
START = f"""
    INSERT INTO attempts (
        scheduled_for, job_no, request, number, ordinal, previous_at, seq, claim_no, trigger, state, node_no,
        token, claimed_at, deadline_at, reason, retries, losses, version
    )
    SELECT s.next_at, s.job_no, '', 1, 0, s.newest_at, s.opened + 1, v.place,
        {TRIGGER_CODES[Trigger.SCHEDULE]}, {_RUNNING}, g.node_no, s.token + 1, g.now, v.deadline, '{ON_TIME}',
        0, 0, s.version
    FROM v CROSS JOIN g CROSS JOIN states AS s WHERE s.job_no = v.job_no
"""
MOVED = ("job_no", "following", "last_run")
MOVED_FIRST = (*MOVED, "look_at")
_MOVE = """
    UPDATE states SET token = token + 1, wake_at = v.following, served_until = next_at, next_at = v.following,
        fired_count = fired_count + 1, last_attempt_at = g.now, last_run = v.last_run, newest_at = next_at,
        opened = opened + 1{more}
    FROM v CROSS JOIN g WHERE states.job_no = v.job_no
"""
MOVE = _MOVE.format(more="")
MOVE_FIRST = _MOVE.format(more=", look_at = v.look_at")  # apart: `look_at` is in an index
ENDING = ("at", "job_no", "token", "started", "finished", "code")
# Jobs without a decision since their attempts started, and with the same definition. A new definition may
# require that the job is removed now.
_QUIET = """
    FROM v CROSS JOIN g CROSS JOIN states AS s WHERE s.job_no = v.job_no AND s.token = v.token
    AND s.damage IS NULL
"""
# An upsert always uses the key, whatever the database's planner estimates. The row exists, because the job
# has not changed since it was written. In a damaged database it may be missing; then it is written anew.
END = f"""
    INSERT INTO attempts (
        scheduled_for, job_no, request, number, ordinal, trigger, state, node_no, token, started_at,
        finished_at, outcome, reason, retries, losses, exit_code, version
    )
    SELECT v.at, v.job_no, '', 1, 0, {TRIGGER_CODES[Trigger.SCHEDULE]}, {_ENDED}, g.node_no, v.token,
        v.started, v.finished, {OUTCOME_CODES[Outcome.SUCCEEDED]}, '{ON_TIME}', 0, 0, v.code, s.version
    {_QUIET}
    ON CONFLICT (scheduled_for, job_no, request, number) DO UPDATE SET
        state = excluded.state, outcome = excluded.outcome, started_at = excluded.started_at,
        finished_at = excluded.finished_at, exit_code = excluded.exit_code
    WHERE attempts.state = {_RUNNING} AND attempts.node_no = excluded.node_no
    AND attempts.token = excluded.token AND attempts.version = excluded.version
"""
QUIET = f"""
    SELECT v.job_no {_QUIET} AND s.version = (
        SELECT a.version FROM attempts AS a
        WHERE a.scheduled_for = v.at AND a.job_no = v.job_no AND a.request = '' AND a.number = 1
        AND a.state + 0 = {_RUNNING} AND a.node_no + 0 = g.node_no AND a.token = v.token
    )
"""


class SqlHerdStart(HerdStart):
    """A herd within one claim. `look_at`: when to look at the history of a job that never ran before."""

    __slots__ = ("look_at",)

    def __init__(self, herd: Herd, node: str, at: datetime) -> None:
        super().__init__(herd, node, at)
        days = herd.mould.template.policy.keep.days
        self.look_at = None if days is None else whole(at) + days * DAY


class SqlHerdRun(HerdRun):
    """A run of a herd; `quiet_no` is the number of its job, if its success may change only its attempt."""

    __slots__ = ("quiet_no",)

    def __init__(self, start: HerdStart, row: Row, data: dict[str, Any]) -> None:
        super().__init__(start, row[1], row[DUE_TOKEN] + 1, row[DUE_VERSION], data)
        is_quiet = start.herd.alike.ends_in_peace and row[DUE_PLAIN] == _AND_WELL
        self.quiet_no: int | None = row[0] if is_quiet else None


class HerdStarts:
    """The herd runs that one claim starts."""

    def __init__(self, dialect: Dialect, herds: Herds, node: str, node_no: int, now: datetime) -> None:
        self._dialect = dialect
        self._herds = herds
        self._node = node
        self._node_no = node_no
        self._at = now
        self._now = whole(now)
        self._starts: dict[int, SqlHerdStart] = {}  # by the identity of the herd
        self._forget_taken()

    def _forget_taken(self) -> None:
        self._started: dict[str, list[Any]] = {name: [] for name in STARTED}
        self._moved: dict[str, list[Any]] = {name: [] for name in MOVED}
        self._moved_first: dict[str, list[Any]] = {name: [] for name in MOVED_FIRST}

    def find_started(self, rows: Sequence[Row]) -> set[int]:
        """The jobs whose next occurrence has an attempt that the state does not show."""
        columns = {"at": [row[DUE_AT] for row in rows], "job_no": [row[0] for row in rows]}
        return {job_no for (job_no,) in self._dialect.run_rows(FIND_STARTED, columns)}

    def take(self, rows: Sequence[Row], apart: Collection[int], place: int) -> list[Run]:
        """Start due jobs, given as rows, up to the first job that belongs to no herd.

        `apart`: numbers of jobs that belong to no herd, whatever their rows say. `place`: the position of the
        first run in the answer to the claim.
        """
        starts = self._starts_of(rows, apart)
        data = read_objects([row[_DATA] for row, _ in zip(rows, starts, strict=False)])
        runs: list[Run] = []
        for row, start, own in zip(rows, starts, data, strict=False):
            run = SqlHerdRun(start, row, own)
            runs.append(run)
            start.runs.append(run)
            is_first = start.look_at is not None and row[DUE_LOOK_AT] is None
            moved = self._moved_first if is_first else self._moved
            moved["job_no"].append(row[0])
            moved["following"].append(start.herd.following)
            moved["last_run"].append(run.key[0])
            if is_first:
                moved["look_at"].append(start.look_at)
        self._started["job_no"] += [row[0] for row, _ in zip(rows, runs, strict=False)]
        self._started["place"] += range(place, place + len(runs))
        self._started["deadline"] += [start.deadline for start, _ in zip(starts, runs, strict=False)]
        return runs

    def has(self, row: Row) -> bool:
        """Whether a job belongs to a herd, by its state and its definition."""
        return bool(row[DUE_PLAIN]) and self._start_of(row[_FRAME], row[_POLICY], row[DUE_AT]) is not None

    def _starts_of(self, rows: Sequence[Row], apart: Collection[int]) -> list[SqlHerdStart]:
        """The herds of the first rows, up to the first row that has none."""
        found: list[SqlHerdStart] = []
        start, of = None, None
        for row in rows:
            if not row[DUE_PLAIN] or row[0] in apart:
                break
            sign = row[_FRAME], row[_POLICY], row[DUE_AT]
            if sign != of:
                start, of = self._start_of(*sign), sign
            if start is None or not row[1].startswith(start.herd.prefix):
                break
            found.append(start)
        return found

    def _start_of(self, frame: str, policy_no: int, at: int) -> SqlHerdStart | None:
        """The herd of a definition and an occurrence; None if each of its jobs needs its own decision."""
        herd = self._herds.of(frame, policy_no, at)
        if herd is None or self._now > herd.until:
            return None
        found = self._starts.get(id(herd))
        if found is None:
            found = self._starts[id(herd)] = SqlHerdStart(herd, self._node, self._at)
        return found

    def events(self) -> list[HerdStarted]:
        """What was started."""
        return started(list(self._starts.values()), self._at)

    def flush(self) -> None:
        """Write what was taken."""
        self._dialect.run_rows(START, self._started, now=self._now, node_no=self._node_no)
        self._dialect.run_rows(MOVE, self._moved, now=self._now)
        self._dialect.run_rows(MOVE_FIRST, self._moved_first, now=self._now)
        self._forget_taken()


# -- ends ------------------------------------------------------------------------------------------


def end_quietly(
    dialect: Dialect, node_no: int, endings: Sequence[Ending]
) -> tuple[Sequence[Ending], Sequence[Ending]]:
    """Record the successes that change only their attempts. Returns these endings, and all other endings."""
    quiet: dict[int, tuple[SqlHerdRun, Ending]] = {}
    for ending in endings:
        run = ending.run
        if (
            isinstance(run, SqlHerdRun)
            and run.quiet_no is not None
            and ending.outcome is Outcome.SUCCEEDED
            and ending.error is None
        ):
            quiet[run.quiet_no] = run, ending
    if not quiet:
        return (), endings
    numbers = sorted(quiet)
    ends = [quiet[number] for number in numbers]
    columns: dict[str, list[Any]] = {
        "at": [run.at for run, _ in ends],
        "job_no": numbers,
        "token": [ending.token for _, ending in ends],
        "started": [micros(ending.started_at) for _, ending in ends],
        "finished": [whole(ending.finished_at) for _, ending in ends],
        "code": [ending.exit_code for _, ending in ends],
    }
    dialect.hold(numbers)
    found = dialect.change_rows(END, QUIET, columns, node_no=node_no)
    if len(found) == len(endings):
        return endings, ()
    done = {id(quiet[job_no][1]) for job_no in found}
    return [e for e in endings if id(e) in done], [e for e in endings if id(e) not in done]
