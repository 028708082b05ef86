"""Sources with their revisions and status, and the definitions that jobs have had."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from foliot.model.version import KEPT_REVISIONS, Revision, Version, all_versions
from foliot.model.view import SourceView
from foliot.stores.mongodb import layout
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.optimistic.entry import Entry
from foliot.stores.sql.codes import an_instant, whole

_KNOWN: Document = {"$or": [{"revision": {"$exists": True}}, {"status": {"$exists": True}}]}


def revision(session: MongoSession, source: str) -> str | None:
    """The revision that a source was last reconciled to."""
    return session.revision(source)


def revisions(session: MongoSession, source: str, limit: int = KEPT_REVISIONS) -> tuple[Revision, ...]:
    """The last revisions of a source, the newest first."""
    found = session["sources"].find_one({"_id": source}, {"revs": 1}) or {}
    rows: list[list[Any]] = (found.get("revs") or [])[: max(0, limit)]
    return tuple(
        Revision(source, int(row[0]), row[1], an_instant(int(row[2])), *map(int, row[3:])) for row in rows
    )


def sources(session: MongoSession) -> tuple[SourceView, ...]:
    """The sources that were reconciled, or whose status was written."""
    session.help_apply()
    found = list(session["sources"].find(_KNOWN, {"revs": 0}).sort("_id", 1))
    return tuple(_view(session, one) for one in found)


def _view(session: MongoSession, found: Document) -> SourceView:
    name: str = found["_id"]
    bounds = {"$gte": f"{name}/", "$lt": f"{name}0"}  # "0" follows "/"
    jobs = session["jobs"].count_documents({"_id": bounds})
    hidden = {"z": {"$in": [layout.GONE, layout.HIDDEN]}, "_id": bounds}
    at = an_instant(int(found["at"])) if "at" in found else None
    count = jobs - session["jobs"].count_documents(hidden)
    return SourceView(name, found.get("revision"), count, at, found.get("status"))


def write_source_status(session: MongoSession, source: str, status: str) -> None:
    """Write the status of a source."""
    session["sources"].update_one({"_id": source}, {"$set": {"status": status}}, upsert=True)


def restore_source(
    session: MongoSession, source: str, reconciled_at: datetime | None, revisions: Sequence[Revision]
) -> None:
    """Restore the time and the revisions of a source that was copied from another store."""
    rows = [[one.ordinal, one.revision, whole(one.at), *one[4:]] for one in revisions]
    news: Document = {"$set": {"revs": rows}}
    if reconciled_at is None:
        news["$unset"] = {"at": ""}
    else:
        news["$set"]["at"] = whole(reconciled_at)
    session["sources"].update_one({"_id": source}, news)


def forget_source(session: MongoSession, source: str, revision: str | None) -> bool:
    """Forget a source, but not its jobs, if it is still at that revision. Returns whether it was."""
    session.help_apply()
    wanted = {"_id": source, "revision": revision, "tx": {"$exists": False}, **_KNOWN}
    return session["sources"].delete_one(wanted).deleted_count > 0


def versions(session: MongoSession, job: str) -> tuple[Version, ...]:
    """The definitions of a job, the newest first."""
    session.help_apply()
    entry: Entry | None = session.peek([job]).get(job)
    if entry is None or not entry.is_there or getattr(entry, "is_hidden", False):
        return ()
    session.settle_past(job)
    prefix = f"^{re.escape(layout.both(job, ''))}"
    rows = list(session["versions"].find({"_id": {"$regex": prefix}}).sort("_id", -1))
    kept = [(int(layout.split_name(one["_id"])[1]), json.loads(one["d"])) for one in rows]
    session.definitions.learn((row[0] for _, row in kept), session.frames)
    found = [session.definitions.version(job, number, row) for number, row in kept]
    return tuple(found) if entry.record is None else all_versions(entry.record, found)
