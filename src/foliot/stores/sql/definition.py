"""Jobs as texts: the frame, that many jobs share, and the data of the action, that is each job's own.

The frame is the job's canonical text with its name and its action's data left empty. A herd of a
million jobs has few frames, so each is read once, and a job costs no more than its own data.
"""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from foliot.errors import DamagedRecordError, InvalidJobError
from foliot.model.codec import decode_job, encode_job_apart
from foliot.model.frozen import freeze
from foliot.model.job import Action, Job
from foliot.model.json_text import MisfitError, read_object, write_json
from foliot.model.shape import DATA
from foliot.schedules import Schedule

_MOST_FRAMES = 2048
_MOST_JOBS = 8192
_NO_NAME = "-"
_NO_DATA = "{}"
_NESTED = frozenset((dict, list))


class _Clay:
    """A job in the making: it has a job's slots, and can still be changed."""

    __slots__ = tuple(field.name for field in fields(Job))


class _ActionClay:
    """The same of an action."""

    __slots__ = tuple(field.name for field in fields(Action))


_shared_by = attrgetter(
    "source", "schedule", "queue", "policy", "enabled", "repeat_until", "auto_remove", "revision", "extra"
)


class Texts(NamedTuple):
    """A job as it is stored."""

    frame: str
    data: str
    policy: str


class _Frame(NamedTuple):
    frame: str
    policy: str
    alive: Schedule  # so that its id is not used again


class Mould(NamedTuple):
    """A frame that was read: what all jobs of it share. `template` has all of it, but a name and data."""

    source: str
    action: Action
    values: tuple[Any, ...]
    template: Job

    def action_of(self, data: str) -> Action:
        """The action of a job with that data; DamagedRecordError if it cannot be read."""
        # A herd without data shares its action, too.
        return self.action if data == _NO_DATA else _acting(self.action.kind, _read_data(data))

    def job(self, name: str, action: Action) -> Job:
        """The job of that name."""
        return _named(name, action, self.values)


class Writer:
    """Jobs to texts. Equal jobs have equal texts."""

    def __init__(self) -> None:
        self._frames: dict[tuple[Any, ...], _Frame] = {}

    def texts(self, job: Job) -> Texts:
        """The texts of a job; InvalidJobError if it has none."""
        frame = self._frame(job)
        data = job.action.data
        return Texts(frame.frame, _write_data(job) if data else _NO_DATA, frame.policy)

    def _frame(self, job: Job) -> _Frame:
        if job.extra:
            return self._written(job)
        # A schedule by identity: not every one can be compared, and a herd shares it anyway.
        sign = (
            id(job.schedule), job.policy, job.source, job.action.kind, job.queue,
            job.enabled, job.repeat_until, job.auto_remove, job.revision,
        )  # fmt: skip
        found = self._frames.get(sign)
        if found is None:
            if len(self._frames) >= _MOST_FRAMES:
                self._frames.clear()
            found = self._frames[sign] = self._written(job)
        return found

    def _written(self, job: Job) -> _Frame:
        empty = _job_of(job, _NO_NAME, {})
        return _Frame(*encode_job_apart(empty), job.schedule)


class Reader:
    """Texts to jobs. What is read a second time is kept: of a herd that runs once, nothing is."""

    def __init__(self) -> None:
        self._frames: dict[tuple[str, str], Mould] = {}
        self._seen: set[str] = set()
        self._jobs: dict[str, tuple[str, str, str, Job]] = {}

    def job(self, key: str, frame: str, data: str, policy: str) -> Job:
        """The job of its texts; DamagedRecordError if it cannot be read."""
        kept = self._jobs.get(key)
        if kept is not None and kept[0] == data and kept[1] == frame and kept[2] == policy:
            return kept[3]
        job = self._read(key, frame, data, policy)
        if key in self._seen:
            if len(self._jobs) >= _MOST_JOBS:
                self._jobs.clear()
            self._jobs[key] = data, frame, policy, job
        else:
            if len(self._seen) >= _MOST_JOBS:
                self._seen.clear()
            self._seen.add(key)
        return job

    def _read(self, key: str, frame: str, data: str, policy: str) -> Job:
        mould = self.mould(frame, policy)
        found, _, name = key.partition("/")
        if found != mould.source:
            raise DamagedRecordError("source", mould.source, f"is not that of {key}")
        return mould.job(name, mould.action_of(data))

    def mould(self, frame: str, policy: str) -> Mould:
        """What all jobs of a frame share; DamagedRecordError if it cannot be read."""
        mould = self._frames.get((frame, policy))
        if mould is None:
            if len(self._frames) >= _MOST_FRAMES:
                self._frames.clear()
            mould = self._frames[frame, policy] = _mould_of(decode_job(frame, policy))
        return mould


def _job_of(frame: Job, name: str, data: dict[str, Any]) -> Job:
    return Job(
        source=frame.source,
        name=name,
        schedule=frame.schedule,
        action=Action(kind=frame.action.kind, data=data),
        queue=frame.queue,
        policy=frame.policy,
        enabled=frame.enabled,
        repeat_until=frame.repeat_until,
        auto_remove=frame.auto_remove,
        revision=frame.revision,
        extra=frame.extra,
    )


def _mould_of(frame: Job) -> Mould:
    return Mould(frame.source, frame.action, _shared_by(frame), frame)


def _named(name: str, action: Action, values: tuple[Any, ...]) -> Job:
    """A job of a frame, without the checks: the frame has passed them, and they cost the most."""
    clay: Any = _Clay()  # no way to set the slots of what is frozen is half as quick
    clay.name, clay.action = name, action
    (
        clay.source, clay.schedule, clay.queue, clay.policy, clay.enabled, clay.repeat_until,
        clay.auto_remove, clay.revision, clay.extra,
    ) = values  # fmt: skip
    clay.__class__ = Job
    job: Job = clay
    return job


def _acting(kind: str, data: dict[str, Any]) -> Action:
    """An action with data that nobody else has: if nothing is nested in it, it need not be copied."""
    clay: Any = _ActionClay()
    clay.kind = kind
    clay.data = MappingProxyType(data) if _NESTED.isdisjoint(map(type, data.values())) else freeze(data)
    clay.__class__ = Action
    action: Action = clay
    return action


def _write_data(job: Job) -> str:
    try:
        return write_json(DATA.write(job.action.data))
    except MisfitError as error:
        raise InvalidJobError(error.within("action.data").path, error.value, error.reason) from error


def _read_data(text: str) -> dict[str, Any]:
    try:
        return read_object(text)
    except MisfitError as error:
        field = error.within("action.data").path
        raise DamagedRecordError(
            field, error.value, error.reason, flaw=error.flaw, expected=error.expected
        ) from error
