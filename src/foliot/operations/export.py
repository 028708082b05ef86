"""Writes a source into a file: definitions and states, for a plan on a host without access to the database.

The file has no output, no error and no payload of a run. Hidden values of actions are digests: a plan sees
that a value differs, but not the value. The digests of one file share a salt. A short secret can still be
guessed by trying, so do not publish the file.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

from foliot.engine.change.fields import ENV, shows
from foliot.errors import FoliotError, SourceNotFoundError, StoreError
from foliot.model.attempt import format_instant
from foliot.model.codec import (
    decode_attempt,
    decode_job,
    decode_state,
    encode_attempt,
    encode_job,
    encode_state,
)
from foliot.model.frozen import thaw
from foliot.model.job import Action, Job
from foliot.model.state import Record
from foliot.operations.herd import find_room
from foliot.operations.plan import durations_of
from foliot.operations.questions import Questions

EXPORT_VERSION = 1
_HIDDEN_OF_RUNS = ("payload", "error")
_MOST_TIMED = 2000  # jobs whose durations are written


class Exported(NamedTuple):
    """The content of such a file."""

    source: str
    revision: str | None
    at: datetime
    salt: str
    records: dict[str, Record]
    durations: dict[str, tuple[timedelta, ...]]
    slots: dict[str, int] | None


async def export_source(ops: Questions, source: str) -> dict[str, Any]:
    """The data of a source that a plan needs, as plain values. Raises SourceNotFoundError."""
    known = {view.source: view for view in await ops.store.sources()}
    if source not in known:
        raise SourceNotFoundError(source, hint="foliot source list shows all")
    salt, jobs = secrets.token_hex(16), list[dict[str, Any]]()
    async for view in ops.every_job(source, with_removed=True):
        if view.record is None or view.damage is not None:
            continue
        job, state, attempts = view.record
        took = await durations_of(ops, job.key) if len(jobs) < _MOST_TIMED else ()
        jobs.append(
            {
                "job": json.loads(encode_job(digested(job, salt))),
                "state": encode_state(state),
                "attempts": [
                    {k: v for k, v in encode_attempt(one).items() if k not in _HIDDEN_OF_RUNS}
                    for one in attempts
                ],
                "durations": [one.total_seconds() for one in took],
            }
        )
    return {
        "export_version": EXPORT_VERSION,
        "source": source,
        "revision": known[source].revision,
        "at": format_instant(await ops.store.now()),
        "salt": salt,
        "slots": dict((await find_room(ops)).slots) or None,
        "jobs": jobs,
    }


def read_export(text: str) -> Exported:
    """Read the file of `export_source`. StoreError if it is another file."""
    try:
        data = json.loads(text)
        version = data["export_version"]
        if version != EXPORT_VERSION:
            raise StoreError(f"the file is of version {version!r}, and this Foliot reads {EXPORT_VERSION}")
        records = [_record(one) for one in data["jobs"]]
        took = (tuple(timedelta(seconds=float(s)) for s in one["durations"]) for one in data["jobs"])
        return Exported(
            str(data["source"]),
            data["revision"],
            datetime.fromisoformat(data["at"]),
            str(data["salt"]),
            {record.job.name: record for record in records},
            {record.job.key: times for record, times in zip(records, took, strict=True)},
            data["slots"],
        )
    except (ValueError, KeyError, TypeError, AttributeError, FoliotError) as error:
        if isinstance(error, StoreError):
            raise
        hint = "it is made by: foliot source export SOURCE > state.json"
        raise StoreError(
            f"the state file cannot be read ({type(error).__name__}: {error})", hint=hint
        ) from None


def _record(data: Mapping[str, Any]) -> Record:
    job = decode_job(json.dumps(data["job"]))
    return Record(job, decode_state(data["state"]), tuple(decode_attempt(one) for one in data["attempts"]))


def digested(job: Job, salt: str) -> Job:
    """The job with a digest in the place of each value that is not shown."""
    data = {name: _hide(job, name, value, salt) for name, value in thaw(job.action.data).items()}
    return replace(job, action=Action(kind=job.action.kind, data=data))


def _hide(job: Job, name: str, value: Any, salt: str) -> Any:
    if name == ENV and isinstance(value, dict):
        return {variable: _digest(inner, salt) for variable, inner in value.items()}
    return value if shows(job, name) else _digest(value, salt)


def _digest(value: Any, salt: str) -> str:
    text = json.dumps(value, sort_keys=True)
    return f"digest:{blake2b(text.encode(), key=salt.encode()[:64], digest_size=16).hexdigest()}"
