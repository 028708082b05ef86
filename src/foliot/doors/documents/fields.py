"""The four fields of a document that are ours, by their paths: "sleepUntil", or "cron.sleepUntil"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from foliot.doors.documents.errors import InvalidConfigError
from foliot.doors.documents.job import LEAVE, Job, JobUpdate
from foliot.errors import shorten

ID = "_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Where the fields are in a document. Paths with dots lead into documents within."""

    sleep_until: str = "sleepUntil"
    interval: str = "interval"
    repeat_until: str = "repeatUntil"
    auto_remove: str = "autoRemove"

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for item in fields(self):
            option, path = f"{item.name}_field", getattr(self, item.name)
            _check_path(option, path)
            for other, its_path in seen.items():
                if f"{path}.".startswith(f"{its_path}.") or f"{its_path}.".startswith(f"{path}."):
                    reason = f"{shorten(path)} and {other} {shorten(its_path)} are in each other's way"
                    raise InvalidConfigError(option, reason)
            seen[option] = path

    def job(self, document: Mapping[str, Any], *, token: int | None = None) -> Job:
        """A document as a job. Values of a wrong type stay as they are, for the plan to tell of."""
        sleep_until = read(document, self.sleep_until)
        auto_remove = read(document, self.auto_remove)
        return Job(
            id=document.get(ID),
            sleep_until=sleep_until if isinstance(sleep_until, datetime) else None,
            interval=read(document, self.interval),
            repeat_until=read(document, self.repeat_until),
            auto_remove=False if auto_remove is None else auto_remove,
            data=document,
            token=token,
        )

    def changes(self, updates: JobUpdate) -> dict[str, Any]:
        """The paths that an update writes, with their values."""
        changes: dict[str, Any] = {}
        if updates.sleep_until is not LEAVE:
            changes[self.sleep_until] = updates.sleep_until
        if updates.auto_remove is not LEAVE:
            changes[self.auto_remove] = updates.auto_remove
        return changes


def own_fields(job: Job) -> tuple[Any, Any, Any]:
    """What decides about a job's next time: if it is edited while the job runs, the plan is made anew."""
    return job.interval, job.repeat_until, job.auto_remove


def read(document: Mapping[str, Any], path: str) -> Any:
    """The value at a path; None if there is none."""
    value: Any = document
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def write(document: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path; documents on the way are made if they are missing."""
    *parents, last = path.split(".")
    for name in parents:
        document = document.setdefault(name, {})
    document[last] = value


def ancestors(path: str) -> list[str]:
    """The paths on the way to a path: of "a.b.c", "a" and "a.b"."""
    names = path.split(".")
    return [".".join(names[:count]) for count in range(1, len(names))]


def _check_path(option: str, path: object) -> None:
    if not isinstance(path, str) or not path:
        raise InvalidConfigError(option, f"must be the name of a field, not {shorten(path)}")
    names = path.split(".")
    if not all(names) or any(name.startswith("$") or "\0" in name for name in names):
        raise InvalidConfigError(option, f"{shorten(path)} is no path", hint='such as "cron.sleepUntil"')
    if names[0] == ID:
        raise InvalidConfigError(option, f"{shorten(path)} is the document's id, which never changes")
