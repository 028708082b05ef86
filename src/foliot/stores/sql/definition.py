"""Jobs as texts: a frame, which many jobs share, and the data of the action, which each job has for itself.

The frame is the job's canonical text with its name and its action's data left empty. A herd of a
million jobs has few frames, so each is read once, and a job costs no more than its own data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foliot.errors import DamagedRecordError, InvalidJobError
from foliot.model.codec import decode_job, encode_job_apart
from foliot.model.job import Action, Job, shared_by, unchecked_action, unchecked_job
from foliot.model.json_text import MisfitError, read_object, write_flat, write_json
from foliot.model.policy import Policy
from foliot.model.shape import DATA
from foliot.schedules import Schedule

_MOST_FRAMES = 2048
_MOST_JOBS = 8192
_NO_NAME = "-"
_NO_DATA = "{}"


class Texts(NamedTuple):
    """A job as it is stored."""

    frame: str
    data: str
    policy: str


class Frame(NamedTuple):
    """The texts that many jobs share."""

    frame: str
    policy: str
    alive: tuple[Schedule, Policy]  # kept alive, so that Python does not give their ids to other objects


class Mould(NamedTuple):
    """A frame as objects. `template` is a job of this frame without a name and without data."""

    source: str
    action: Action
    values: tuple[Any, ...]
    template: Job

    def action_of(self, data: str) -> Action:
        """The action of a job with that data; DamagedRecordError if it cannot be read."""
        # A herd without data shares its action, too.
        return self.action if data == _NO_DATA else unchecked_action(self.action.kind, _read_data(data))

    def job(self, name: str, action: Action) -> Job:
        """The job of that name."""
        return unchecked_job(name, action, self.values)


class Writer:
    """Turns jobs into texts. Equal jobs have equal texts."""

    def __init__(self) -> None:
        self._frames: dict[tuple[Any, ...], Frame] = {}

    def texts(self, job: Job) -> Texts:
        """The texts of a job; InvalidJobError if it has none."""
        frame = self.frame(job)
        return Texts(frame.frame, data_text(job), frame.policy)

    def frame(self, job: Job) -> Frame:
        """The texts that a job shares with jobs like it: one object for all of them, while it is cached."""
        if job.extra:
            return self._written(job)
        # By identity: not every schedule can be compared, and a herd shares both anyway.
        sign = (
            id(job.schedule), id(job.policy), job.source, job.action.kind, job.queue,
            job.enabled, job.repeat_until, job.auto_remove, job.group, job.revision,
        )  # fmt: skip
        found = self._frames.get(sign)
        if found is None:
            if len(self._frames) >= _MOST_FRAMES:
                self._frames.clear()
            found = self._frames[sign] = self._written(job)
        return found

    def _written(self, job: Job) -> Frame:
        empty = _job_of(job, _NO_NAME, {})
        return Frame(*encode_job_apart(empty), (job.schedule, job.policy))


class Reader:
    """Turns texts into jobs. A frame is cached when it is read for the second time."""

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
        group=frame.group,
        revision=frame.revision,
        extra=frame.extra,
    )


def _mould_of(frame: Job) -> Mould:
    return Mould(frame.source, frame.action, shared_by(frame), frame)


def data_text(job: Job) -> str:
    """The text of a job's data; InvalidJobError if it has none."""
    data = job.action.data
    if not data:
        return _NO_DATA
    try:
        return write_flat(data) or write_json(DATA.write(data))
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
