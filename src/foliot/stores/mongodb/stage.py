"""A revision of a source on MongoDB: prepared in the jobs themselves, counted in the source's document."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from threading import Event
from typing import TYPE_CHECKING
from uuid import uuid4

from foliot.model.version import KEPT_REVISIONS, keeps_revisions
from foliot.model.version import Change as Difference
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.transaction import COMMITTED, PREPARING
from foliot.stores.optimistic.change import Change
from foliot.stores.optimistic.revision import Effect, FreezeLostError, Stage, StaleBaseError, Step

if TYPE_CHECKING:
    from foliot.stores.mongodb.session import MongoSession

_COUNTED = (Difference.ADDED, Difference.CHANGED, Difference.REMOVED)
_A_MOMENT = 0.01  # seconds between two looks at a source that another revision holds


class MongoStage(Stage):
    """One revision under way. `put` stores it in the jobs; no query shows it before `count`."""

    def __init__(self, session: MongoSession, step: Step) -> None:
        self._session = session
        self._step = step
        self._keys: dict[int, set[str]] = {}
        self._moved: set[int] = set()
        self._begin()

    def _begin(self) -> None:
        """Take the source: wait for another revision, and end one whose writer has died."""
        session, source = self._session, self._step.source
        self._id = session.staging = uuid4().hex
        while True:
            with session.step("begin"):
                found = session.begin_tx(source, self._step.base, self._id)
            tx = found.get("tx")
            if tx is not None and tx["id"] == self._id:
                return
            if found.get("revision") != self._step.base:
                raise StaleBaseError
            if tx is not None and tx["state"] == COMMITTED:
                session.apply(source, tx["id"])
            elif not session.end_silent(source):
                Event().wait(_A_MOMENT)

    def put(self, number: int, changes: Sequence[Change]) -> None:
        if not self._session.is_alive(self._step.source, self._id):
            self._moved.add(number)  # `freeze` begins anew
            return
        refused = self._session.prepare(changes, self._id) if changes else set()
        keys = {change.key for change in changes}
        # An earlier decision about these jobs must not count.
        stale = self._keys.get(number, set()) - keys
        if stale:
            wanted = {"_id": {"$in": sorted(stale)}, "next.r": self._id}
            self._session["jobs"].update_many(wanted, {"$unset": {"next": ""}})
        self._keys[number] = keys
        self._moved = self._moved | {number} if refused else self._moved - {number}
        self.refused = refused

    refused: Collection[str] = ()

    def freeze(self) -> None:
        if not self._session.is_alive(self._step.source, self._id):
            self._session.drop_prepared(self._id)
            self._begin()
            self._moved = set(self._keys)

    def is_moved(self, number: int) -> bool:
        if not self._session.is_alive(self._step.source, self._id):
            raise FreezeLostError
        return number in self._moved

    def count(self, portions: int, effect: Effect) -> None:
        del portions
        session, (source, base, revision) = self._session, self._step
        at, row = session.now_number(), {}
        if keeps_revisions(source):
            found = session["sources"].find_one({"_id": source}, {"revs": {"$slice": 1}}) or {}
            ordinal = 1 + int((found.get("revs") or [[0]])[0][0])
            counts = [effect.differences[kind] for kind in _COUNTED]
            news = {"$each": [[ordinal, revision, at, *counts]], "$position": 0, "$slice": KEPT_REVISIONS}
            row = {"$push": {"revs": news}}
        wanted: Document = {
            "_id": source, "revision": base, "tx.id": self._id, "tx.state": PREPARING,
            "$or": [{"tx.taken": {"$exists": False}}, {"tx.taken": []}],
        }  # fmt: skip
        said = {"revision": revision, "at": at, "tx.state": COMMITTED}
        with session.commit():
            counted = session["sources"].update_one(wanted, {"$set": said, **row}).matched_count
        if not counted:
            self._understand()
        if effect.has_news:
            session.hint()

    def _understand(self) -> None:
        """Raise the reason why the revision cannot count."""
        found = self._session["sources"].find_one({"_id": self._step.source}) or {}
        tx = found.get("tx")
        if found.get("revision") != self._step.base:
            raise StaleBaseError
        if tx is not None and tx["id"] == self._id:
            taken = set(tx.get("taken", ()))
            self._moved |= {number for number, keys in self._keys.items() if keys & taken}
            wanted = {"_id": self._step.source, "tx.id": self._id}
            self._session["sources"].update_one(wanted, {"$pull": {"tx.taken": {"$in": sorted(taken)}}})
        raise FreezeLostError

    def apply(self) -> None:
        self._session.apply(self._step.source, self._id)
        self.end()

    def end(self) -> None:
        """Note that this session's revision has ended."""
        self._session.staging = None

    def give_up(self) -> None:
        """End the revision without effect."""
        self._session.abort(self._step.source, self._id)
        self.end()


def write_at_once(
    session: MongoSession, step: Step, changes: Sequence[Change], effect: Effect
) -> Collection[str]:
    """Write a small revision, all or nothing. Returns the keys of jobs that have changed."""
    stage = MongoStage(session, step)
    try:
        stage.put(0, changes)
        if stage.refused:
            stage.give_up()
            return stage.refused
        stage.count(1, effect)
    except FreezeLostError:
        stage.give_up()
        return {change.key for change in changes}
    stage.apply()
    return ()
