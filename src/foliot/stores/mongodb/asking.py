"""State that all sessions of one store share, and the basic reads and writes of a session."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import uuid4

from pymongo import IndexModel, InsertOne, WriteConcern
from pymongo.database import Database
from pymongo.errors import BulkWriteError, CollectionInvalid, OperationFailure, PyMongoError
from pymongo.read_concern import ReadConcern

from foliot.model.job import Job
from foliot.protocols import Clock
from foliot.stores.mongodb.connection import CONVERSION, DUPLICATE, Client, Document, Jobs
from foliot.stores.mongodb.layout import HINTS, HINTS_SIZE, INDICES, lane_of
from foliot.stores.optimistic.definition import Definitions
from foliot.stores.optimistic.entry import Entry

_MOST_REMEMBERED = 20_000
_MILLISECOND = 1000  # microseconds
SERVER_TIME: Document = {"$multiply": [{"$toLong": "$$NOW"}, _MILLISECOND]}  # in microseconds


class Shared:
    """State that the sessions of one store share.

    `entries`: jobs as this process has written them last, so that a finish need not read what its own claim
    wrote. `birth` names the data: if it changes, the store was emptied.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what a store is made of
        self,
        client: Client,
        database: str,
        prefix: str,
        clock: Clock,
        lease: timedelta,
        told: Callable[[], int | None] = lambda: None,
        failpoint: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.client = client
        self.database: Database[Document] = client.get_database(database)
        self.prefix = prefix
        self.clock = clock
        self.lease = lease
        self.told = told
        self.failpoint = failpoint
        self.birth = ""
        self.ready: set[str] = set()  # collections that have their indices
        self.births = 0  # how often the store was emptied
        self.entries: OrderedDict[str, Entry] = OrderedDict()
        writer = uuid4().hex[:12]
        # Not a generator: two threads may ask at once, and a generator refuses the second.
        self.marks: Iterator[str] = map(f"{writer}.{{:x}}".format, count(1))

    def forget(self) -> None:
        """The store was emptied, so this process's cached entries are wrong."""
        self.births += 1
        self.entries.clear()
        self.ready.clear()

    def remember(self, entry: Entry) -> None:
        """Remember a job as this process has written it."""
        self.entries[entry.key] = entry
        self.entries.move_to_end(entry.key)
        while len(self.entries) > _MOST_REMEMBERED:
            self.entries.popitem(last=False)

    def term(self) -> str:
        """The election of the present primary, as the driver knows it; empty without a replica set.

        Read it before a write: then the write's time comes from this election's primary, or a later one.
        """
        servers = self.client.topology_description.server_descriptions().values()
        ids = sorted(str(one.election_id) for one in servers if one.is_writable and one.election_id)
        return ids[-1] if ids else ""


class Asking:
    """One thread's connection to the store, and what it has cached."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.definitions = Definitions()
        self.verb = ""  # of the call that is under way
        self._births = shared.births
        self._lanes: set[str] = set()  # that the server knows

    def catch_up(self, verb: str) -> None:
        """Before a call: the server may have forgotten what this process has sent to it earlier."""
        self.verb = verb
        if self._births != self.shared.births:
            self._births = self.shared.births
            self.definitions.forget()
            self._lanes.clear()

    @contextmanager
    def commit(self) -> Iterator[None]:
        """The write by which a verb takes effect. Tests end the process before and after it."""
        self.shared.failpoint(f"{self.verb}:before_commit")
        yield
        self.shared.failpoint(f"{self.verb}:after_commit")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """One of the writes that a verb consists of. Tests end the process there, too."""
        self.shared.failpoint(f"{self.verb}.{name}:before")
        yield
        self.shared.failpoint(f"{self.verb}.{name}:after")

    def __getitem__(self, name: str) -> Jobs:
        """A collection."""
        return self.shared.database.get_collection(self.shared.prefix + name)

    def committed(self, name: str) -> Jobs:
        """A collection, read as a majority of the servers has it: such data is never rolled back."""
        return self.shared.database.get_collection(
            self.shared.prefix + name, read_concern=ReadConcern("majority")
        )

    def ready(self, name: str) -> Jobs:
        """A collection for writing. Its indices are created first, if they are missing."""
        found = self[name]
        if name not in self.shared.ready:
            models = [
                IndexModel(
                    list(index.fields),
                    name=index.name,
                    unique=index.is_unique,
                    **({} if index.only is None else {"partialFilterExpression": index.only}),
                )
                for index in INDICES
                if index.collection == name
            ]
            if models:
                found.create_indexes(models)
            self.shared.ready.add(name)
        return found

    # -- time --------------------------------------------------------------------------------------

    @property
    def time(self) -> Any:
        """The store's time, in microseconds, as an expression: the server's, or that of a test."""
        told = self.shared.told()
        return SERVER_TIME if told is None else {"$literal": told}

    def now_number(self) -> int:
        """The store's time, in microseconds."""
        told = self.shared.told()
        return self.server_time() if told is None else told

    def server_time(self) -> int:
        """The server's time, in microseconds, also in tests."""
        found = self.shared.client.admin.command("hello")["localTime"]
        return int(found.timestamp() * 1000) * _MILLISECOND

    # -- writing -----------------------------------------------------------------------------------

    def write_all(self, name: str, writes: Sequence[Any]) -> dict[int, int]:
        """Carry out writes in any order. Returns the positions of refused writes, each with its error code.

        A write is refused if another writer was quicker: its guard does not hold, or its `_id` exists.
        """
        return self._bulk(name, writes)[1] if writes else {}

    def write_jobs(self, keys: Sequence[str], writes: Sequence[Any]) -> set[str]:
        """Write jobs with guards. Returns the keys of jobs that another writer has changed or deleted."""
        if not writes:
            return set()
        with self.commit():
            written, failed = self._bulk("jobs", writes)
        refused = {keys[place] for place in failed}
        if written + len(failed) < len(writes):
            there = {one["_id"] for one in self["jobs"].find({"_id": {"$in": list(keys)}}, {"_id": 1})}
            refused |= set(keys) - there
        return refused

    def _bulk(self, name: str, writes: Sequence[Any]) -> tuple[int, dict[int, int]]:
        try:
            result = self.ready(name).bulk_write(writes, ordered=False)
        except BulkWriteError as error:
            # An error of the write concern: the write may be rolled back later. It counts as not answered.
            told = error.details
            failed = {one["index"]: one["code"] for one in told["writeErrors"]}
            is_other = any(code not in (CONVERSION, DUPLICATE) for code in failed.values())
            if is_other or told["writeConcernErrors"]:
                raise
            return told["nMatched"] + told["nInserted"] + told["nUpserted"], failed
        return result.matched_count + result.inserted_count + result.upserted_count, {}

    def tell_frames(self, jobs: Iterable[Job]) -> None:
        """Write the frames and lanes of jobs, before the jobs that name them."""
        told = list(jobs)
        frames = self.definitions.unknown_frames(told)
        texts = [{"_id": name, "f": json.dumps(pair, ensure_ascii=False)} for name, pair in frames.items()]
        self.write_all("frames", [InsertOne(one) for one in texts])
        self.definitions.server_knows(frames)
        lanes = {lane_of(job.queue, job.action.kind) for job in told} - self._lanes
        self.write_all("lanes", [InsertOne({"_id": lane}) for lane in sorted(lanes)])
        self._lanes |= lanes

    def lanes(self) -> list[str]:
        """All lanes."""
        return [one["_id"] for one in self["lanes"].find()]

    def hint(self) -> None:
        """Send a hint: other nodes should look at the store now. A hint may be lost."""
        with suppress(PyMongoError):
            self.make_hints()
            self[HINTS].with_options(write_concern=WriteConcern(w=1)).insert_one({})

    def make_hints(self) -> None:
        """Create the collection of hints, if there is none."""
        if HINTS not in self.shared.ready:
            make_hints(self.shared.database, self.shared.prefix + HINTS)
            self.shared.ready.add(HINTS)


def make_hints(database: Database[Document], name: str) -> None:
    """Create a collection of hints with one hint in it: a cursor on an empty collection ends at once."""
    with suppress(CollectionInvalid, OperationFailure):  # it exists already, or the server does not allow it
        database.create_collection(name, capped=True, size=HINTS_SIZE)
        database[name].insert_one({})
