"""Documents in a list of yours: for tests, and for programs that may forget."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

from foliot.clock import SystemClock
from foliot.doors.documents.fields import ID, Fields, own_fields, read, write
from foliot.doors.documents.job import MILLISECOND, Job, JobUpdate, Settled
from foliot.errors import JobNotFoundError
from foliot.protocols import Clock

Document = dict[str, Any]


class MemoryStore:
    """A list of dictionaries. Each gets an `_id` if it has none. All schedulers of the process may use it.

    `condition`: a function that tells whether a document is one of ours.
    """

    def __init__(
        self,
        documents: list[Document] | None = None,
        *,
        fields: Fields | None = None,
        condition: Callable[[Mapping[str, Any]], bool] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.documents = [] if documents is None else documents
        self._fields = fields or Fields()
        self._condition = condition
        self._clock: Clock = clock or SystemClock()
        self._lock = threading.Lock()

    async def now(self) -> datetime:
        return self._clock.now()

    async def put(self, document: Mapping[str, Any]) -> Any:
        """Add a document, or replace the one that has its `_id`; returns the `_id`."""
        fresh = deepcopy(dict(document))
        id_ = fresh.setdefault(ID, uuid.uuid4().hex)
        with self._lock:
            found = self._find(id_)
            if found is None:
                self.documents.append(fresh)
            else:
                found.clear()
                found.update(fresh)
        return id_

    async def get(self, id: Any) -> Job | None:  # noqa: A002 - the protocol's word
        with self._lock:
            found = self._find(id)
            return None if found is None else self._job(found)

    # -- the verbs ---------------------------------------------------------------------------------

    async def lock_next(self, lock_until: datetime) -> Job | None:
        with self._lock:
            due_by = min(self._clock.now(), lock_until - MILLISECOND)
            due = [(at, document) for document in self.documents if (at := self._due_at(document, due_by))]
            if not due:
                return None
            _, found = min(due, key=lambda pair: pair[0])
            found.setdefault(ID, uuid.uuid4().hex)
            job = self._job(found)
            write(found, self._fields.sleep_until, lock_until)
            return job

    async def update(self, id: Any, updates: JobUpdate) -> None:  # noqa: A002 - the protocol's word
        with self._lock:
            found = self._find(id)
            if found is None:
                raise JobNotFoundError(str(id))
            self._write(found, updates)

    async def remove(self, id: Any) -> None:  # noqa: A002 - the protocol's word
        with self._lock:
            found = self._find(id)
            if found is not None:
                self.documents.remove(found)

    async def renew(self, job: Job, held: datetime, until: datetime) -> bool:
        with self._lock:
            found = self._find(job.id)
            if found is None or read(found, self._fields.sleep_until) != held:
                return False
            write(found, self._fields.sleep_until, until)
            return True

    async def settle(self, job: Job, held: datetime, updates: JobUpdate | None) -> Settled:
        with self._lock:
            found = self._find(job.id)
            if found is None:
                return Settled.LOST if updates else Settled.DONE
            at = read(found, self._fields.sleep_until)
            if at != held:
                return Settled.DONE if updates and at == updates.sleep_until else Settled.LOST
            if own_fields(self._job(found)) != own_fields(job):
                return Settled.CHANGED
            if updates:
                self._write(found, updates)
            else:
                self.documents.remove(found)
            return Settled.DONE

    # -- inside ------------------------------------------------------------------------------------

    def _find(self, id_: Any) -> Document | None:
        return next((found for found in self.documents if ID in found and found[ID] == id_), None)

    def _job(self, document: Document) -> Job:
        return self._fields.job(deepcopy(document))

    def _due_at(self, document: Document, now: datetime) -> datetime | None:
        at = read(document, self._fields.sleep_until)
        if not isinstance(at, datetime) or at.utcoffset() is None or at > now:
            return None
        return at if self._condition is None or self._condition(document) else None

    def _write(self, document: Document, updates: JobUpdate) -> None:
        for path, value in self._fields.changes(updates).items():
            write(document, path, value)
