"""Herds: jobs that are alike and due at the same time are started and ended together.

The planner decides once about all jobs of one definition whose next occurrence is the same (`Alike`). Two
statements write what it decided for hundreds of jobs. Their runs know what a run that goes well is asked for,
and no more. A job takes this way if its record is *plain*: see `STATE_OF_DUE`. All others are read,
decided about and written one by one, in the same claim.

When such a run succeeds, and nothing was decided about its job since it started, one statement ends the
attempts of all of them. The token of the state tells: whatever is decided about a job changes it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from foliot.errors import DamagedRecordError
from foliot.model.alike import ON_TIME, Alike
from foliot.model.attempt import (
    Attempt,
    AttemptState,
    Ending,
    Outcome,
    Trigger,
    format_instant,
)
from foliot.model.deciding import DecidesAlike
from foliot.model.events import HerdEnded, HerdStarted
from foliot.model.job import Job, freeze_own, is_nested, unchecked_action
from foliot.model.json_text import read_objects
from foliot.model.run import Run
from foliot.stores.sql.codes import (
    DAY,
    OUTCOME_CODES,
    STATE_CODES,
    TRIGGER_CODES,
    UNREADABLE,
    an_instant,
    micros,
    whole,
)
from foliot.stores.sql.definition import Mould, Reader
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.entry import DUE_AT, DUE_LOOK_AT, DUE_PLAIN, DUE_TOKEN, DUE_VERSION
from foliot.stores.sql.interned import Interned
from foliot.stores.sql.rows import Row, new

# ruff: noqa: S608 - made of constants only

_MOST_HERDS = 4096
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
# Of those jobs nothing was decided since their attempts started, and they have the definition of their runs.
# By another definition they may have to be removed now.
_QUIET = """
    FROM v CROSS JOIN g CROSS JOIN states AS s WHERE s.job_no = v.job_no AND s.token = v.token
    AND s.damage IS NULL
"""
# An insert that finds its row goes by the key, whatever a planner believes. The row is there: nothing was
# decided about the job since it was written. In a damaged database it may be gone; then it is written anew.
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


class Herd(NamedTuple):
    """Jobs of one definition that are due for one occurrence, in the numbers and texts of a store."""

    mould: Mould
    alike: Alike
    at: int
    following: int | None
    until: int
    prefix: str  # of the keys of its jobs
    suffix: str  # of the keys of its runs


class Herds:
    """The herds that a connection has met. They are kept for as long as the same planner decides."""

    def __init__(self, reader: Reader, interned: Interned) -> None:
        self._reader = reader
        self._interned = interned
        self._decide: DecidesAlike | None = None
        self._known: dict[Row, Herd | None] = {}

    def use(self, decide: DecidesAlike) -> None:
        """From now on this decides."""
        if decide is not self._decide or len(self._known) >= _MOST_HERDS:
            self._known.clear()
            self._decide = decide

    def of(self, frame: str, policy_no: int, at: int) -> Herd | None:
        """The herd of a definition and an occurrence; None if each job must be looked at."""
        sign = frame, policy_no, at
        try:
            return self._known[sign]
        except KeyError:
            self._known[sign] = herd = self._read(frame, policy_no, at)
            return herd

    def _read(self, frame: str, policy_no: int, at: int) -> Herd | None:
        try:
            mould = self._reader.mould(frame, self._interned.policy(policy_no))
            first = an_instant(at)
        except (DamagedRecordError, *UNREADABLE):
            return None
        alike = None if self._decide is None else self._decide.alike(mould.template, first)
        if alike is None:
            return None
        suffix = f"@{format_instant(first)}"
        return Herd(mould, alike, at, micros(alike.following), whole(alike.until), f"{mould.source}/", suffix)


class _Start(NamedTuple):
    """A herd within one claim, and what was started of it."""

    runs: list[Run]
    herd: Herd
    node: str
    at: datetime
    deadline: int | None
    look_at: int | None


class HerdRun(Run):
    """A run of a herd. It makes its job and its attempt when they are asked for.

    `quiet_no` is the number of its job, if its success may change nothing but its attempt.
    """

    __slots__ = ("_data", "_start", "_token", "_version", "job_key", "quiet_no")

    def __init__(self, start: _Start, row: Row, data: dict[str, Any]) -> None:
        herd = start.herd
        key: str = row[1]
        is_quiet = herd.alike.ends_in_peace and row[DUE_PLAIN] == _AND_WELL
        self._start = start
        self._data = data
        self._token = row[DUE_TOKEN] + 1
        self._version = row[DUE_VERSION]
        self.quiet_no: int | None = row[0] if is_quiet else None
        self.job_key = key
        self._key = key + herd.suffix, 1

    @property
    def job(self) -> Job:
        mould = self._start.herd.mould
        return mould.job(self.job_key[len(mould.source) + 1 :], unchecked_action(self.kind, self._data))

    @property
    def attempt(self) -> Attempt:
        try:
            return self._attempt  # a listener is told of its start and of its end
        except AttributeError:
            start = self._start
            made = self._attempt = start.herd.alike.attempt(
                self.job_key, self._token, self._version, start.node, start.at
            )
            return made

    @property
    def at(self) -> int:
        """Its occurrence, as a number."""
        return self._start.herd.at

    @property
    def claimed_at(self) -> datetime:
        return self._start.at

    @property
    def queue(self) -> str:
        return self._start.herd.mould.template.queue

    @property
    def kind(self) -> str:
        return self._start.herd.mould.action.kind

    @property
    def data(self) -> Mapping[str, Any]:
        return freeze_own(self._data)

    @property
    def arguments(self) -> dict[str, Any]:
        return super().arguments if is_nested(self._data) else dict(self._data)

    @property
    def timeout(self) -> timedelta | None:
        return self._start.herd.alike.timeout

    def ending(
        self,
        outcome: Outcome,
        started_at: datetime | None,
        finished_at: datetime,
        error: str | None = None,
        exit_code: int | None = None,
    ) -> Ending:
        return new(Ending, (
            self.job_key, self._key[0], 1, self._token, outcome, started_at, finished_at, error, exit_code,
            self, False, False, None,
        ))  # fmt: skip


class HerdStarts:
    """What one claim starts of herds."""

    def __init__(self, dialect: Dialect, herds: Herds, node: str, node_no: int, now: datetime) -> None:
        self._dialect = dialect
        self._herds = herds
        self._node = node
        self._node_no = node_no
        self._at = now
        self._now = whole(now)
        self._starts: dict[int, _Start] = {}  # by the identity of the herd
        self._forget_taken()

    def _forget_taken(self) -> None:
        self._started: dict[str, list[Any]] = {name: [] for name in STARTED}
        self._moved: dict[str, list[Any]] = {name: [] for name in MOVED}
        self._moved_first: dict[str, list[Any]] = {name: [] for name in MOVED_FIRST}

    def find_started(self, rows: Sequence[Row]) -> set[int]:
        """The jobs whose next occurrence has an attempt, of which their states do not know."""
        columns = {"at": [row[DUE_AT] for row in rows], "job_no": [row[0] for row in rows]}
        return {job_no for (job_no,) in self._dialect.run_rows(FIND_STARTED, columns)}

    def take(self, rows: Sequence[Row], apart: Collection[int], place: int) -> list[Run]:
        """Start jobs that are due, as rows of their states and definitions say: up to one that is not alike.

        `apart` has the numbers of jobs that are not alike, whatever their rows say. `place` is that of the
        first run in the answer to the claim.
        """
        starts = self._starts_of(rows, apart)
        data = read_objects([row[_DATA] for row, _ in zip(rows, starts, strict=False)])
        runs: list[Run] = []
        for row, start, own in zip(rows, starts, data, strict=False):
            run = HerdRun(start, row, own)
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
        """Whether a job is one of a herd, as far as its state and its definition tell."""
        return bool(row[DUE_PLAIN]) and self._start_of(row[_FRAME], row[_POLICY], row[DUE_AT]) is not None

    def _starts_of(self, rows: Sequence[Row], apart: Collection[int]) -> list[_Start]:
        """The herds of the first rows, for as long as each has one."""
        found: list[_Start] = []
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

    def _start_of(self, frame: str, policy_no: int, at: int) -> _Start | None:
        """The herd of a definition and an occurrence; None if each of its jobs must be looked at."""
        herd = self._herds.of(frame, policy_no, at)
        if herd is None or self._now > herd.until:
            return None
        return self._starts.get(id(herd)) or self._begin(herd)

    def _begin(self, herd: Herd) -> _Start:
        days = herd.mould.template.policy.keep.days
        look_at = None if days is None else self._now + days * DAY
        start = _Start([], herd, self._node, self._at, micros(herd.alike.deadline(self._at)), look_at)
        self._starts[id(herd)] = start
        return start

    def events(self) -> list[HerdStarted]:
        """What was started, by occurrence: a thousand definitions may share one."""
        by_occurrence: dict[datetime, list[Run]] = {}
        for start in self._starts.values():
            if start.runs:
                by_occurrence.setdefault(start.herd.alike.first, []).extend(start.runs)
        return [HerdStarted(runs, first, self._at) for first, runs in by_occurrence.items()]

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
    """Record the successes that change nothing but their attempts: those, and all others."""
    quiet: dict[int, tuple[HerdRun, Ending]] = {}
    for ending in endings:
        run = ending.run
        if (
            isinstance(run, HerdRun)
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


def ended(endings: Sequence[Ending], now: datetime) -> HerdEnded:
    """The events of runs that have succeeded quietly."""
    return HerdEnded([run for e in endings if isinstance(run := e.run, Run)], endings, now)
