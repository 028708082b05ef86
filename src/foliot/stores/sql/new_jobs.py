"""Jobs that are declared for the first time, many at once.

The planner decides once about all new jobs of one frame (`AlikeNew`), because their states are the same. So
each job costs only its key, its data and its number. Existing jobs are handled one by one: see `declare`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from foliot.model.alike import AlikeNew
from foliot.model.deciding import DecidesNewAlike
from foliot.model.events import HerdDeclared
from foliot.model.job import Job
from foliot.model.state import State
from foliot.stores.retention import first_look
from foliot.stores.sql import upsert
from foliot.stores.sql.codes import micros
from foliot.stores.sql.definition import Frame, data_text
from foliot.stores.sql.rows import Row
from foliot.stores.sql.session import Session

_MOST_FRAMES = 4096


class _Shared(NamedTuple):
    """What the new jobs of one frame have in common."""

    frame: Frame  # kept alive, so that Python does not give its id to another object
    policy_no: int
    state: Row
    alike: AlikeNew


class NewJobs:
    """The new jobs of one revision. `has_wakes`: one of them will be due."""

    def __init__(self, session: Session, decide: DecidesNewAlike) -> None:
        self._dialect = session.dialect
        self._writer = session.writer
        self._interned = session.interned
        self._decide = session.asking(decide.new)
        self._known: dict[int, _Shared] = {}  # by the identity of the frame
        self._declared: list[tuple[str, AlikeNew]] = []
        self._jobs: list[Row] = []
        self._states: list[Row] = []
        self.has_wakes = False

    @property
    def events(self) -> HerdDeclared:
        """Their events."""
        return HerdDeclared(self._declared)

    def add(self, job: Job, key: str, numbers: Iterator[int]) -> bool:
        """Add a new job with the next number. False if the planner must decide about it alone."""
        frame = self._writer.frame(job)
        shared = self._known.get(id(frame))
        if shared is None:
            alike = self._decide(job)
            if alike is None:
                return False
            shared = self._share(job, frame, alike)
        job_no = next(numbers)
        self._jobs.append((job_no, key, frame.frame, data_text(job), shared.policy_no))
        self._states.append((*shared.state, job_no))
        self._declared.append((key, shared.alike))
        return True

    def _share(self, job: Job, frame: Frame, alike: AlikeNew) -> _Shared:
        token, created_at, wake_at, served_until, next_at, *_ = state = alike.state
        watch = state.watch
        # only these columns of the state are written
        assert state == State(token, created_at, wake_at, served_until, next_at, watch=watch)  # noqa: S101 - the contract
        self.has_wakes = self.has_wakes or wake_at is not None
        times = micros(created_at), micros(wake_at), micros(served_until), micros(next_at)
        lane = self._interned.lane_number(job.queue, job.action.kind)
        row = (token, *times, 0, 0, None, first_look(job.policy.keep), lane, watch and watch.to_json())
        if len(self._known) >= _MOST_FRAMES:
            self._known.clear()
        shared = _Shared(frame, self._interned.policy_number(frame.policy), row, alike)
        self._known[id(frame)] = shared
        return shared

    def flush(self) -> int:
        """Write the new jobs. Returns how many."""
        count = len(self._jobs)
        if count:
            self._dialect.add(upsert.ADD_JOB, self._jobs)
            self._dialect.add(upsert.ADD_STATE, self._states)
            self._jobs.clear()
            self._states.clear()
        return count
