"""Herds in the numbers and texts of a store: the same for every store that starts them.

The planner decides once about all jobs of one definition whose next occurrence is the same (`Alike`). Their
runs know what a run that goes well is asked for, and no more: job and attempt are made when they are asked
for. How many are read, started and ended at once is a matter of each store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from foliot.errors import DamagedRecordError
from foliot.model.alike import Alike
from foliot.model.attempt import Attempt, Ending, Outcome, format_instant
from foliot.model.deciding import DecidesAlike
from foliot.model.events import HerdEnded, HerdStarted
from foliot.model.job import Job, freeze_own, is_nested, unchecked_action
from foliot.model.run import Run
from foliot.schedules import Schedule
from foliot.stores.sql.codes import UNREADABLE, an_instant, micros, whole
from foliot.stores.sql.definition import Mould

_MOST_HERDS = 4096
_new = tuple.__new__  # with all fields in their order, in half the time that a call of the class takes


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
    """The herds that a connection has met. They are kept for as long as the same planner decides.

    `read` gives what all jobs of a definition share, by what names the definition in the store.
    """

    def __init__(self, read: Callable[..., Mould]) -> None:
        self._read_mould = read
        self._decide: DecidesAlike | None = None
        self._known: dict[tuple[Any, ...], Herd | None] = {}

    def use(self, decide: DecidesAlike) -> None:
        """From now on this decides."""
        if decide is not self._decide or len(self._known) >= _MOST_HERDS:
            self._known.clear()
            self._decide = decide

    def of(self, *sign: Any) -> Herd | None:
        """The herd of a definition and an occurrence, the last; None if each job must be looked at."""
        try:
            return self._known[sign]
        except KeyError:
            self._known[sign] = herd = self._read(*sign)
            return herd

    def _read(self, *sign: Any) -> Herd | None:
        *names, at = sign
        try:
            mould = self._read_mould(*names)
            first = an_instant(at)
        except (DamagedRecordError, *UNREADABLE):
            return None
        alike = None if self._decide is None else self._decide.alike(mould.template, first)
        if alike is None:
            return None
        suffix = f"@{format_instant(first)}"
        return Herd(mould, alike, at, micros(alike.following), whole(alike.until), f"{mould.source}/", suffix)


class HerdStart:
    """A herd within one claim, and what was started of it."""

    __slots__ = ("at", "deadline", "herd", "node", "runs")

    def __init__(self, herd: Herd, node: str, at: datetime) -> None:
        self.runs: list[Run] = []
        self.herd = herd
        self.node = node
        self.at = at
        self.deadline = micros(herd.alike.deadline(at))


class HerdRun(Run):
    """A run of a herd. It makes its job and its attempt when they are asked for."""

    __slots__ = ("_data", "_token", "_version", "job_key", "start")

    def __init__(self, start: HerdStart, key: str, token: int, version: int, data: dict[str, Any]) -> None:
        self.start = start
        self._data = data
        self._token = token
        self._version = version
        self.job_key = key
        self._key = key + start.herd.suffix, 1

    @property
    def job(self) -> Job:
        try:
            return self._job  # some executors ask several times
        except AttributeError:
            mould = self.start.herd.mould
            name, action = self.job_key[len(mould.source) + 1 :], unchecked_action(self.kind, self._data)
            made = self._job = mould.job(name, action)
            return made

    @property
    def attempt(self) -> Attempt:
        try:
            return self._attempt  # a listener is told of its start and of its end
        except AttributeError:
            start = self.start
            made = self._attempt = start.herd.alike.attempt(
                self.job_key, self._token, self._version, start.node, start.at
            )
            return made

    @property
    def at(self) -> int:
        """Its occurrence, as a number."""
        return self.start.herd.at

    @property
    def claimed_at(self) -> datetime:
        return self.start.at

    @property
    def name(self) -> str:
        return self.job_key[len(self.start.herd.prefix) :]

    @property
    def schedule(self) -> Schedule:
        return self.start.herd.mould.template.schedule

    @property
    def scheduled_for(self) -> datetime:
        return self.start.herd.alike.first

    @property
    def is_requested(self) -> bool:
        return False

    @property
    def queue(self) -> str:
        return self.start.herd.mould.template.queue

    @property
    def kind(self) -> str:
        return self.start.herd.mould.action.kind

    @property
    def data(self) -> Mapping[str, Any]:
        return freeze_own(self._data)

    @property
    def arguments(self) -> dict[str, Any]:
        return super().arguments if is_nested(self._data) else dict(self._data)

    @property
    def timeout(self) -> timedelta | None:
        return self.start.herd.alike.timeout

    def ending(
        self,
        outcome: Outcome,
        started_at: datetime | None,
        finished_at: datetime,
        error: str | None = None,
        exit_code: int | None = None,
    ) -> Ending:
        return _new(Ending, (
            self.job_key, self._key[0], 1, self._token, outcome, started_at, finished_at, error, exit_code,
            self, False, False, None,
        ))  # fmt: skip


def started(starts: Sequence[HerdStart], at: datetime) -> list[HerdStarted]:
    """The events of what was started, by occurrence: a thousand definitions may share one."""
    by_occurrence: dict[datetime, list[Run]] = {}
    for start in starts:
        if start.runs:
            by_occurrence.setdefault(start.herd.alike.first, []).extend(start.runs)
    return [HerdStarted(runs, first, at) for first, runs in by_occurrence.items()]


def ended(endings: Sequence[Ending], now: datetime) -> HerdEnded:
    """The events of runs that have succeeded quietly."""
    return HerdEnded([run for e in endings if isinstance(run := e.run, Run)], endings, now)
