"""Herds: jobs that are alike and due at the same time are started and ended together.

The planner decides once about all jobs of one definition whose next occurrence is the same (`Alike`). Two
statements write what it decided for hundreds of jobs. Their runs know what a run that goes well is asked for,
and no more. A job takes this way if its record is *plain*: see `_plain_occurrence`. All others are read,
decided about and written one by one, in the same claim.

When such a run succeeds, and nothing was decided about its job since it started, one statement ends the
attempts of all of them. The token of the state tells: whatever is decided about a job changes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from foliot.model.job import Action, Job
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
from foliot.stores.sql.entry import LOOK_AT, NEWEST, OPENED, STATE
from foliot.stores.sql.interned import Interned
from foliot.stores.sql.rows import ABSURD, Row

# ruff: noqa: S608 - made of constants only

_TOKEN, _WAKE, _SERVED, _NEXT, _PAUSED, _REMOVED, _FIRED, _FAILURES, _VERSION, _PROBLEM = (
    STATE + n for n in (0, 2, 3, 4, 5, 6, 7, 8, 12, 15)
)
_MOST_HERDS = 4096
_RUNNING, _ENDED = STATE_CODES[AttemptState.RUNNING], STATE_CODES[AttemptState.ENDED]

STARTED = "job_no, first, following, last_run, place, deadline, look_at"
START = f"""
    INSERT INTO attempts (
        scheduled_for, job_no, request, number, ordinal, previous_at, seq, claim_no, trigger, state, node_no,
        token, claimed_at, deadline_at, reason, retries, losses, version
    )
    SELECT v.first, s.job_no, '', 1, 0, s.newest_at, s.opened + 1, v.place, {TRIGGER_CODES[Trigger.SCHEDULE]},
        {_RUNNING}, g.node_no, s.token + 1, g.now, v.deadline, '{ON_TIME}', 0, 0, s.version
    FROM v CROSS JOIN g CROSS JOIN states AS s WHERE s.job_no = v.job_no
"""
MOVE = """
    UPDATE states SET token = token + 1, wake_at = v.following, served_until = v.first, next_at = v.following,
        fired_count = fired_count + 1, last_attempt_at = g.now, last_run = v.last_run, newest_at = v.first,
        opened = opened + 1, look_at = coalesce(states.look_at, v.look_at)
    FROM v CROSS JOIN g WHERE states.job_no = v.job_no
"""
ENDING = "at, job_no, token, started, finished, code, frame"
# Those whose attempts run under this node and token, and of whose jobs nothing was decided since. A job
# without another occurrence must have the definition of its run: by another it may have to be removed now.
# Each row is looked up by its key, whatever a planner believes: no other index fits `state + 0`.
QUIET = f"""
    SELECT v.job_no FROM v CROSS JOIN g
    WHERE v.token = (
        SELECT a.token FROM attempts AS a
        WHERE a.scheduled_for = v.at AND a.job_no = v.job_no AND a.request = '' AND a.number = 1
        AND a.state + 0 = {_RUNNING} AND a.node_no + 0 = g.node_no
    )
    AND v.token = (
        SELECT s.token FROM states AS s WHERE s.job_no = v.job_no AND s.damage IS NULL AND (
            s.next_at IS NOT NULL
            OR v.frame = (SELECT j.frame FROM jobs AS j WHERE j.job_no = v.job_no)
        )
    )
"""
# An insert that finds its row: that goes by the key, too. Values that are never used are 0, or empty.
END = f"""
    INSERT INTO attempts (
        scheduled_for, job_no, request, number, started_at, finished_at, exit_code, ordinal, trigger, state,
        token, reason, retries, losses
    )
    SELECT v.at, v.job_no, '', 1, v.started, v.finished, v.code, 0, 0, 0, 0, '', 0, 0 FROM v WHERE true
    ON CONFLICT (scheduled_for, job_no, request, number) DO UPDATE SET
        state = {_ENDED}, outcome = {OUTCOME_CODES[Outcome.SUCCEEDED]}, started_at = excluded.started_at,
        finished_at = excluded.finished_at, exit_code = excluded.exit_code
"""


class Herd(NamedTuple):
    """Jobs of one definition that are due for one occurrence, in the numbers and texts of a store."""

    mould: Mould
    frame: str
    alike: Alike
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
        return Herd(
            mould, frame, alike, micros(alike.following), whole(alike.until), f"{mould.source}/", suffix
        )


class _Start(NamedTuple):
    """A herd within one claim, and what was started of it."""

    runs: list[Run]
    herd: Herd
    node: str
    at: datetime
    deadline: int | None
    look_at: int | None


class Place(NamedTuple):
    """Where the attempt of a run is; and its definition, if that counts when it ends."""

    at: int
    job_no: int
    frame: str | None


class HerdRun(Run):
    """A run of a herd. It makes its job and its attempt when they are asked for."""

    __slots__ = ("_action", "_start", "_token", "_version", "job_key", "place")

    def __init__(  # noqa: PLR0913, PLR0917 - what it makes its attempt of
        self, start: _Start, job_key: str, run_key: str, action: Action, token: int, version: int
    ) -> None:
        self._start = start
        self._action = action
        self._token = token
        self._version = version
        self.place: Place | None = None  # if its success may end in peace
        self.job_key = job_key
        self._key = run_key, 1

    @property
    def job(self) -> Job:
        mould = self._start.herd.mould
        return mould.job(self.job_key[len(mould.source) + 1 :], self._action)

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
    def claimed_at(self) -> datetime:
        return self._start.at

    @property
    def queue(self) -> str:
        return self._start.herd.mould.template.queue

    @property
    def kind(self) -> str:
        return self._action.kind

    @property
    def data(self) -> Mapping[str, Any]:
        return self._action.data

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
        return Ending(
            self.job_key, self.key[0], 1, self._token, outcome, started_at, finished_at, error, exit_code,
            self,
        )  # fmt: skip


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
        self._rows: list[Row] = []

    def take(self, row: Row, place: int) -> HerdRun | None:
        """Start a job that is due, as the row of its state and definition says; None if it is not plain."""
        at = _plain_occurrence(row)
        if at is None:
            return None
        herd = self._herds.of(row[2], row[4], at)
        key, token = row[1], row[_TOKEN]
        if herd is None or self._now > herd.until or not key.startswith(herd.prefix):
            return None
        start = self._starts.get(id(herd)) or self._begin(herd)
        try:
            action = herd.mould.action_of(row[3])
        except (DamagedRecordError, *UNREADABLE):
            return None
        run_key = key + herd.suffix
        run = HerdRun(start, key, run_key, action, token + 1, row[_VERSION])
        if herd.alike.ends_in_peace and not row[_FAILURES] and row[_PROBLEM] is None:
            run.place = Place(at, row[0], herd.frame if herd.following is None else None)
        start.runs.append(run)
        self._rows.append((row[0], at, herd.following, run_key, place, start.deadline, start.look_at))
        return run

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
            by_occurrence.setdefault(start.herd.alike.first, []).extend(start.runs)
        return [HerdStarted(runs, first, self._at) for first, runs in by_occurrence.items()]

    def flush(self) -> None:
        """Write what was taken."""
        if self._rows:
            shared = {"now": self._now, "node_no": self._node_no}
            self._dialect.run_rows(START, STARTED, self._rows, **shared)
            self._dialect.run_rows(MOVE, STARTED, self._rows, **shared)
            self._rows.clear()


def _plain_occurrence(row: Row) -> int | None:
    """The next occurrence of a record that has nothing to it but that; None if there is more to it."""
    at, newest, served = row[_NEXT], row[NEWEST], row[_SERVED]
    is_plain = (
        type(at) is int
        and row[_WAKE] == at
        and row[_PAUSED] is None
        and row[_REMOVED] is None
        and (newest is None or (type(newest) is int and newest < at))
        and (served is None or (type(served) is int and served < at))
        and type(row[_TOKEN]) is type(row[_FAILURES]) is type(row[_FIRED]) is type(row[OPENED]) is int
        and type(row[_VERSION]) is int
        and 0 <= row[_TOKEN] < ABSURD
        and 0 <= row[OPENED] < ABSURD
        and (row[LOOK_AT] is None or type(row[LOOK_AT]) is int)
    )
    return at if is_plain else None


# -- ends ------------------------------------------------------------------------------------------


def end_quietly(
    dialect: Dialect, node_no: int, endings: Sequence[Ending]
) -> tuple[list[Ending], list[Ending]]:
    """Record the successes that change nothing but their attempts: those, and all others."""
    quiet = {p.job_no: (p, ending) for ending in endings if (run := _quiet(ending)) and (p := run.place)}
    if not quiet:
        return [], list(endings)
    rows = [
        (p.at, p.job_no, e.token, micros(e.started_at), whole(e.finished_at), e.exit_code, p.frame)
        for _, (p, e) in sorted(quiet.items())
    ]
    dialect.hold([row[1] for row in rows])
    found = {job_no for (job_no,) in dialect.run_rows(QUIET, ENDING, rows, node_no=node_no)}
    if len(found) < len(rows):
        rows = [row for row in rows if row[1] in found]
    dialect.run_rows(END, ENDING, rows)
    done = {id(ending) for job_no, (_, ending) in quiet.items() if job_no in found}
    return [e for e in endings if id(e) in done], [e for e in endings if id(e) not in done]


def _quiet(ending: Ending) -> HerdRun | None:
    is_quiet = ending.outcome is Outcome.SUCCEEDED and ending.error is None
    return ending.run if is_quiet and isinstance(ending.run, HerdRun) else None


def ended(endings: Sequence[Ending], now: datetime) -> HerdEnded:
    """The events of runs that have succeeded quietly."""
    return HerdEnded([run for e in endings if (run := _quiet(e)) is not None], endings, now)
