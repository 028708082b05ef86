"""Revisions under way: the source's document is the coordinator, and each job stores its own new version.

    begin    tx {id, preparing}         in the source's document, if it is at the base
    prepare  next {r: id, set: …}       in each job that changes, guarded by its mark. Queries do not show it
    count    tx {id, committed}         with the new revision, in one write of the source's document
    apply    set becomes the job        by the server, page by page; any number of nodes may help
    end      no tx

Before `count` nothing has changed: a `next` whose id is not that of its source's tx means nothing. A call
that must write a job that is prepared waits for half a second, and then *takes it back*: it notes the key in
the tx, so that `count` fails, and drops the job's `next`. So a finish never waits for a large revision. A tx
whose writer is silent for long is ended by the next call that needs the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Event
from typing import Any

from pymongo import DeleteOne, ReturnDocument, UpdateOne

from foliot.errors import StoreUnavailableError
from foliot.stores.mongodb import layout
from foliot.stores.mongodb.codec import REMOVABLE, MongoEntry
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.effects import Effects

PREPARING, COMMITTED = "preparing", "committed"
SILENCE = 5000  # milliseconds; if the writer is silent for longer, its revision may be ended
_AT_ONCE = 500
_TURNS, _TURN = 50, 0.01  # a writer waits so often, for so many seconds, before it takes a job back
_NEVER = 2**62


class Transactions(Effects):
    """Reads revisions under way, and helps to apply those that count."""

    staging: str | None = None  # the id of this session's own revision
    _waits: int = 0

    def tx_of(self, source: str) -> Document | None:
        """The revision of a source that is under way."""
        found = self["sources"].find_one({"_id": source}, {"tx": 1})
        tx: Document | None = found.get("tx") if found else None
        return tx

    def help_apply(self) -> bool:
        """Apply committed revisions to the end, because queries must not show half of one.

        Returns whether there was one.
        """
        found = list(self["sources"].find({"tx.state": COMMITTED}, {"tx": 1}))
        for one in found:
            self.apply(one["_id"], one["tx"]["id"])
        return bool(found)

    def apply(self, source: str, id_: str) -> None:
        """Apply a committed revision to the end."""
        while documents := list(
            self["jobs"].find({"next.r": id_}, {"next": 1, "e": 1, "m": 1}).limit(_AT_ONCE)
        ):
            # The outbox of the last write is carried out before it is overwritten.
            self.settle_outboxes({one["_id"]: (one.get("m", ""), one.get("e") or ()) for one in documents})
            news = {one["_id"]: one["next"]["set"] for one in documents}
            self.carry_out({key: new.get("e") or () for key, new in news.items()})
            gone = [key for key, new in news.items() if new.get("z") == [layout.HIDDEN]]
            kept = [key for key in news if key not in set(gone)]
            with self.step("apply"):
                if gone:
                    self.forget_past_of(gone)
                    self["jobs"].delete_many({"_id": {"$in": gone}, "next.r": id_})
                if kept:
                    self["jobs"].update_many({"_id": {"$in": kept}, "next.r": id_}, _ROLL_FORWARD)
        with self.step("end"):
            self["sources"].update_one({"_id": source, "tx.id": id_}, {"$unset": {"tx": ""}})
        self.shared.entries.clear()

    def abort(self, source: str, id_: str) -> bool:
        """End a revision. Returns False if it counts already."""
        wanted = {"_id": source, "tx.id": id_, "tx.state": PREPARING}
        ended = self["sources"].update_one(wanted, {"$unset": {"tx": ""}}).matched_count > 0
        if ended:
            self.drop_prepared(id_)
        return ended

    def drop_prepared(self, id_: str) -> None:
        """Remove what an ended revision has prepared in jobs."""
        self["jobs"].delete_many({"next.r": id_, "z": layout.HIDDEN})
        self["jobs"].update_many({"next.r": id_}, {"$unset": {"next": ""}})

    # -- writers of prepared jobs ------------------------------------------------------------------

    def settle_staged(self, entries: Iterable[MongoEntry]) -> bool:
        """Clear revisions out of the way of jobs. False if the jobs must be read again."""
        staged = [one for one in entries if one.staged is not None and one.staged != self.staging]
        if not staged:
            self._waits = 0
            return True
        txs = {source: self.tx_of(source) for source in {layout.source_of(one.key) for one in staged}}
        for source, tx in txs.items():
            if tx is not None and tx["state"] == COMMITTED:
                self.apply(source, tx["id"])
                return False
        blocked = [one for one in staged if _is_of(txs[layout.source_of(one.key)], one.staged)]
        if not blocked:  # their revisions have ended
            self._waits = 0
            return True
        self._waits += 1
        if self._waits < _TURNS:
            Event().wait(_TURN)
        else:
            self._waits = 0
            self.take_back(blocked)
        return False

    def take_back(self, entries: Iterable[MongoEntry]) -> None:
        """Take jobs back from revisions under way. These revisions must decide about them again."""
        staged: dict[tuple[str, str], list[MongoEntry]] = {}
        for entry in entries:
            if entry.staged is not None:
                staged.setdefault((layout.source_of(entry.key), entry.staged), []).append(entry)
        for (source, id_), taken in staged.items():
            if self.end_silent(source):
                continue
            wanted = {"_id": source, "tx.id": id_, "tx.state": PREPARING}
            noted = {"$addToSet": {"tx.taken": {"$each": [entry.key for entry in taken]}}}
            if self["sources"].update_one(wanted, noted).matched_count:
                self.write_all("jobs", [self._without_next(entry) for entry in taken])

    def _without_next(self, entry: MongoEntry) -> UpdateOne | DeleteOne:
        still = {"_id": entry.key, "m": entry.raw, "next.r": entry.staged}
        if entry.is_hidden:
            return DeleteOne(still)
        return UpdateOne(still, {"$set": {"m": next(self.shared.marks)}, "$unset": {"next": ""}})

    def end_silent(self, source: str) -> bool:
        """End a source's revision whose writer has died. Returns whether there was one."""
        wanted: Document = {"_id": source, "tx.state": PREPARING, "$expr": {"$lt": ["$tx.until", "$$NOW"]}}
        found = self["sources"].find_one(wanted)
        return found is not None and self.abort(source, found["tx"]["id"])

    # -- the writer --------------------------------------------------------------------------------

    def begin_tx(self, source: str, base: str | None, id_: str) -> Document:
        """Begin a revision, if the source is at its base and no other is under way. Returns the source."""
        is_base = {"$eq": [{"$ifNull": ["$revision", None]}, {"$literal": base}]}
        is_free = {"$eq": [{"$type": "$tx"}, "missing"]}
        tx = {"id": id_, "state": PREPARING, "until": {"$add": ["$$NOW", SILENCE]}}
        begun = {"$cond": [{"$and": [is_base, is_free]}, tx, {"$ifNull": ["$tx", "$$REMOVE"]}]}
        found = self["sources"].find_one_and_update(
            {"_id": source}, [{"$set": {"tx": begun}}], upsert=True, return_document=ReturnDocument.AFTER
        )
        if found is None:
            raise StoreUnavailableError(self.verb, "the source is not there")
        return found

    def is_alive(self, source: str, id_: str) -> bool:
        """Give a sign of life. Returns whether the revision is still under way."""
        wanted = {"_id": source, "tx.id": id_, "tx.state": PREPARING}
        until = {"$add": ["$$NOW", SILENCE]}
        return self["sources"].update_one(wanted, [{"$set": {"tx.until": until}}]).matched_count > 0


def _is_of(tx: Mapping[str, Any] | None, id_: str | None) -> bool:
    return tx is not None and tx["id"] == id_


# A field that is null in `set` is removed. Outboxes are carried out before.
_ROLL_FORWARD: list[Document] = [
    {"$replaceWith": {"$mergeObjects": ["$$ROOT", "$next.set"]}},
    {"$unset": ["next", "e"]},
    {
        "$set": {
            name: {"$ifNull": [f"${name}", "$$REMOVE"]} for name in REMOVABLE if name not in ("next", "e")
        }
    },
]
