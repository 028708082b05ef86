"""Herds on MongoDB: jobs that are alike start and end by one decision.

Each job is still one guarded write, because each has its own body. But this process need not plan, read and
build a record for each job, which is most of the cost of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from pymongo import UpdateOne

from foliot.model.attempt import Ending
from foliot.model.run import Run
from foliot.protocols import DecideDue, DecideEnded, Finished
from foliot.stores.claim_loop import Page
from foliot.stores.mongodb import codec
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.due import place_of
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.optimistic import herd_starts
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.herd import Parts, TextHerdStart, next_at, plain_parts
from foliot.stores.optimistic.herd_starts import HerdStarts, Taken
from foliot.stores.optimistic.names import time_text
from foliot.stores.optimistic.session import Guard

_AT_ONCE = 500
_ODD = ("c", "next", "x", "z")  # fields that a plain job does not have


class DuePage(Page[Entry]):
    """Due jobs, as they were found. A job that does not start with a herd is read."""

    def __init__(self, session: MongoSession, documents: Sequence[Document], herd: MongoHerdStarts) -> None:
        self._session = session
        self._documents = documents
        self._herd = herd

    def __len__(self) -> int:
        return len(self._documents)

    def key(self, number: int) -> str:
        key: str = self._documents[number]["_id"]
        return key

    def place(self, number: int) -> str:
        return place_of(self._documents[number])

    def job(self, number: int) -> Entry:
        entry = codec.read_entry(self._documents[number], self._session.definitions)
        entry.place = self.place(number)
        return entry

    def start_alike(self, first: int, most: int) -> Sequence[Run]:
        rows: list[tuple[str, TextHerdStart, Parts, str, str]] = []
        start_of = self._herd.start_of
        for document in self._documents[first : first + most]:
            body, definition, mark = document.get("b"), document.get("d"), document.get("m")
            if not (isinstance(body, str) and isinstance(definition, str) and isinstance(mark, str)):
                break
            parts = None if any(name in document for name in _ODD) else plain_parts(body)
            digest, _, data = definition.partition(" ")
            start = None if parts is None else start_of(digest, next_at(parts))
            key = document["_id"]
            if parts is None or start is None or not key.startswith(start.herd.prefix):
                break
            rows.append((key, start, parts, data, mark))
            if "e" in document:
                self._herd.outboxes[key] = mark, document["e"]
        return self._herd.take(rows) if rows else ()


class MongoHerdStarts(HerdStarts):
    """The herd runs that one claim starts. `outboxes`: the outboxes of the jobs, as they were read."""

    def __init__(self, session: MongoSession, guard: Guard, now: datetime, decide: DecideDue) -> None:
        self._session = session
        self._guard = guard
        self.outboxes: dict[str, tuple[str, Sequence[codec.Effect]]] = {}
        super().__init__(session.herds, str(guard.node), now, decide, self._start)

    def _start(self, taken: Sequence[Taken]) -> Collection[str]:
        """Start runs. Returns the keys of jobs that another writer has changed meanwhile."""
        session, refused = self._session, set[str]()
        outboxes, self.outboxes = self.outboxes, {}
        if not session.may_write(self._guard):
            session.is_late = True
            return {one.run.key[0] for one in taken}
        session.settle_outboxes(outboxes)
        for begin in range(0, len(taken), _AT_ONCE):
            part = taken[begin : begin + _AT_ONCE]
            mark = session.new_mark()
            writes = [self._started(one, mark) for one in part]
            lost = session.write_jobs([one.run.job_key for one in part], writes)
            for one in part:
                is_lost = one.run.job_key in lost
                one.run.mark = "" if is_lost else mark
                refused |= {one.run.key[0]} if is_lost else set()
                session.shared.entries.pop(one.run.job_key, None)
        return refused

    def _started(self, taken: Taken, mark: str) -> UpdateOne:
        run, herd = taken.run, taken.run.start.herd
        held: Document = {"i": f"{herd.suffix}#1", "n": run.start.node}
        held["k"], held["p"] = self._guard.claim_id or "", self._session.next_place()
        return _written(taken, mark, {"b": run.body, "w": herd.following, "c": [held], "e": None})


def finish(
    session: MongoSession, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
) -> Finished:
    """Record how attempts ended: successes of herds together, all others one by one."""

    def end(taken: Sequence[Taken]) -> Collection[str]:
        session.may_write(Guard(node=node))
        refused: set[str] = set()
        for begin in range(0, len(taken), _AT_ONCE):
            refused |= _end(session, taken[begin : begin + _AT_ONCE])
        return refused

    return herd_starts.finish(session, node, endings, now, decide, end)


def _end(session: MongoSession, taken: Sequence[Taken]) -> set[str]:
    """End successful runs. Returns the keys of jobs that another writer has changed meanwhile."""
    mark = session.new_mark()
    writes: dict[str, UpdateOne] = {}
    outboxes: dict[str, list[codec.Effect]] = {}
    for one in taken:
        run = one.run
        assert one.ending is not None  # noqa: S101 - for the type checker: the run has ended
        body, row, ripe_at = run.ended(one.ending)
        member = f"{time_text(run.at)}{run.job_key}\0\0{1:010}"
        outbox = outboxes[run.job_key] = [["a", member, f"{run.start.herd.suffix}#1", row]]
        fields: dict[str, Any] = {"b": body, "c": None, "e": outbox}
        if ripe_at is not None:
            fields["r"] = ripe_at
        writes[run.job_key] = _written(one, mark, fields)
    lost = session.write_with_outboxes(mark, writes, outboxes)
    return {one.run.key[0] for one in taken if one.run.job_key in lost}


def _written(taken: Taken, mark: str, fields: Document) -> UpdateOne:
    return codec.guarded_by(taken.run.job_key, taken.mark, mark, fields)
