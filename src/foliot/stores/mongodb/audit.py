"""The audit. An entry that cannot be read is left out, and deleted when it is old."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timedelta

from pymongo.errors import DuplicateKeyError

from foliot.errors import DamagedRecordError
from foliot.model.access_codec import ENTRY, from_text, to_text
from foliot.model.audit import AUDIT_KEPT_DAYS, AuditEntry, AuditOutcome
from foliot.model.query import MOST_LOOKED_AT, AuditPage, AuditQuery
from foliot.stores.mongodb.access import forget_before
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.pages import is_entry_meant, read_place
from foliot.stores.sql.codes import UNREADABLE, whole

_PART = 500


def write_audit(session: MongoSession, *entries: AuditEntry) -> None:
    """Keep entries."""
    for entry in entries:
        document = {"_id": entry.id, "at": whole(entry.at), "text": to_text(ENTRY, entry)}
        with suppress(DuplicateKeyError):
            session.ready("audit").insert_one(document)


def settle_audit(
    session: MongoSession,
    entry_id: str,
    outcome: AuditOutcome,
    detail: str | None = None,
    after: str | None = None,
) -> bool:
    """Record how a change ended. Returns whether the entry was still `asked`."""
    while True:
        found = session["audit"].find_one({"_id": entry_id})
        entry = _read(found)
        settled = None if entry is None else entry.settled(outcome, detail, after)
        if settled is None or found is None:
            return False
        change = {"$set": {"text": to_text(ENTRY, settled)}}
        if session["audit"].update_one({"_id": entry_id, "text": found["text"]}, change).matched_count:
            return True


def _read(found: Document | None) -> AuditEntry | None:
    with suppress(DamagedRecordError, *UNREADABLE):
        if found is not None:
            entry: AuditEntry = from_text(ENTRY, found["text"])
            return entry
    return None


def audit(session: MongoSession, query: AuditQuery) -> AuditPage:
    """Entries, the newest first."""
    bounds: Document = {}
    if query.until is not None:
        bounds["$lt"] = whole(query.until)
    if query.since is not None:
        bounds["$gte"] = whole(query.since)
    place = read_place(query.after, (int, str)) if query.after else None
    found: list[AuditEntry] = []
    looked = 0
    while True:
        part = _before(session, bounds, place)
        for one in part:
            place = int(one["at"]), one["_id"]
            entry = _read(one)
            if entry is None or not is_entry_meant(entry, query):
                continue
            if len(found) >= query.limit:
                following = json.dumps((whole(found[-1].at), found[-1].id)) if found else None
                return AuditPage(found, following)
            found.append(entry)
        looked += len(part)
        if len(part) < _PART:
            return AuditPage(found)
        if looked >= MOST_LOOKED_AT and place is not None:
            return AuditPage(found, json.dumps(place))


def _before(session: MongoSession, bounds: Document, place: tuple[int | str, ...] | None) -> list[Document]:
    """The next entries after a position, in falling order of times and ids."""
    wanted: Document = {"at": bounds} if bounds else {}
    if place is not None:
        at, id_ = place
        wanted = {**wanted, "$or": [{"at": {"$lt": at}}, {"at": at, "_id": {"$lt": id_}}]}
    return list(session["audit"].find(wanted).sort([("at", -1), ("_id", -1)]).limit(_PART))


def forget_old(session: MongoSession, now: datetime, limit: int) -> int:
    """Forget entries that are older than what is kept, at most `limit`. Returns how many."""
    return forget_before(session, "audit", "at", whole(now - timedelta(days=AUDIT_KEPT_DAYS)), limit)
