"""Effects of a job's write on other collections: history, skips, versions, alerts.

MongoDB writes one document at a time. So a write first puts its effects into the job's own document, into the
*outbox*, and carries them out afterwards. The steps of a write are

    note the write (`writes`) ──▶ write jobs with outboxes ──▶ carry the outboxes out ──▶ drop the note

A note says that outboxes of jobs with that mark may not be carried out yet. A call that reads history, or
that writes such a job again, carries them out first. It does no harm to carry out an effect twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pymongo import DeleteMany, DeleteOne, InsertOne, ReplaceOne

from foliot.model.version import KEPT_VERSIONS
from foliot.stores.mongodb import layout
from foliot.stores.mongodb.asking import SERVER_TIME, Asking
from foliot.stores.mongodb.codec import Effect
from foliot.stores.mongodb.connection import Document

_ABANDONED = 600_000_000  # microseconds; a write that is older has no process any more
_AT_ONCE = 500


class Effects(Asking):
    """Carries outboxes out."""

    def note_write(self, mark: str, keys: Sequence[str]) -> None:
        """Some jobs are about to be written, with outboxes."""
        note = {"keys": {"$literal": list(keys)}, "at": SERVER_TIME}
        self["writes"].update_one({"_id": mark}, [{"$set": note}], upsert=True)

    def drop_note(self, mark: str) -> None:
        """All outboxes of a write are carried out."""
        self["writes"].delete_one({"_id": mark})

    def carry_out(self, outboxes: Mapping[str, Sequence[Effect]]) -> None:
        """Write the effects of outboxes into their collections."""
        lines = [(key, line) for key, outbox in outboxes.items() for line in outbox]
        for collection, write in (
            ("history", _attempt), ("skips", _skip), ("versions", _version), ("alerts", _alert),
        ):  # fmt: skip
            documents = [found for key, line in lines if (found := write(key, line)) is not None]
            there = self.write_all(collection, [InsertOne(one) for one in documents])
            if collection == "history" and there:  # an attempt may be recorded again with other values
                again = [documents[place] for place in there]
                self.write_all(collection, [ReplaceOne({"_id": one["_id"]}, one) for one in again])
        old = [_version_id(key, line[1] - KEPT_VERSIONS) for key, line in lines if line[0] == "v"]
        self.write_all("versions", [DeleteOne({"_id": one}) for one in old])

    def carry_out_noted(self) -> None:
        """Carry out the outboxes of all notes. Queries about history do this first."""
        for note in list(self["writes"].find()):
            self.carry_out_note(note)
            if note["at"] < self.server_time() - _ABANDONED:
                self.drop_note(note["_id"])

    def carry_out_note(self, note: Document) -> None:
        """Carry out the outboxes of one write that are stored so far. The note stays: more may follow."""
        keys: list[str] = note["keys"]
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            found = list(self["jobs"].find({"_id": {"$in": part}, "m": note["_id"]}, {"e": 1, "z": 1}))
            self.carry_out({one["_id"]: one.get("e") or () for one in found})
            self.forget_jobs([one["_id"] for one in found if is_forgotten(one)], note["_id"])

    def settle_outboxes(self, outboxes: Mapping[str, tuple[str, Sequence[Effect]]]) -> None:
        """Carry out the outboxes of jobs, each with its mark, before the jobs are written again."""
        marks = {mark for mark, outbox in outboxes.values() if outbox}
        if not marks:
            return
        noted = {one["_id"] for one in self["writes"].find({"_id": {"$in": list(marks)}}, {"_id": 1})}
        self.carry_out({key: outbox for key, (mark, outbox) in outboxes.items() if mark in noted})

    def forget_jobs(self, keys: Sequence[str], mark: str) -> None:
        """Delete jobs that are hidden under that mark: first their history, then the jobs."""
        if keys:
            self.forget_past_of(keys)
            self.write_all("jobs", [DeleteOne({"_id": key, "m": mark}) for key in keys])

    def forget_past_of(self, keys: Iterable[str]) -> None:
        """Delete the whole history of jobs."""
        wanted = {"j": {"$in": list(keys)}}
        for name in ("history", "skips", "outputs"):
            self[name].delete_many(wanted)
        prefixes = [{"_id": {"$regex": f"^{re.escape(layout.both(key, ''))}"}} for key in wanted["j"]["$in"]]
        self.write_all("versions", [DeleteMany(one) for one in prefixes])

    def forget_attempts(self, ids: Sequence[str], outputs: Sequence[str]) -> None:
        """Delete ended attempts, and their outputs."""
        if ids:
            self["history"].delete_many({"_id": {"$in": list(ids)}})
            self["outputs"].delete_many({"_id": {"$in": list(outputs)}})


def is_forgotten(document: Document) -> bool:
    """Whether a job is hidden because it is deleted, and not because its revision does not count yet."""
    return layout.HIDDEN in (document.get("z") or ()) and "next" not in document


def _attempt(key: str, line: Effect) -> Document | None:
    return {"_id": line[1], "j": key, "i": line[2], "a": line[3]} if line[0] == "a" else None


def _skip(key: str, line: Effect) -> Document | None:
    return {"_id": line[1], "j": key, "why": line[2]} if line[0] == "k" else None


def _version(key: str, line: Effect) -> Document | None:
    return {"_id": _version_id(key, line[1]), "d": line[2]} if line[0] == "v" else None


def _version_id(key: str, number: int) -> str:
    return layout.both(key, f"{number:010}")


def _alert(_: str, line: Effect) -> Document | None:
    if line[0] != "t":
        return None
    _, id_, channel, at, kind, text = line
    name = layout.both(id_, channel)
    return {"_id": name, "id": id_, "c": channel, "at": at, "kind": kind, "a": text, "s": 0}
