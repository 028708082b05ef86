"""Deletes history that no policy keeps. Only a history with enough to delete is read."""

from __future__ import annotations

from datetime import datetime

from foliot.protocols import Pruned
from foliot.stores.mongodb import access, audit, outbox, pipeline
from foliot.stores.mongodb.codec import MongoEntry
from foliot.stores.mongodb.layout import both
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.optimistic.names import run_member, skip_member
from foliot.stores.optimistic.trim import trim_of
from foliot.stores.sql.codes import whole

_AT_ONCE = 100  # histories that are read in one go


def prune(session: MongoSession, now: datetime, limit: int) -> Pruned:
    """Delete history that policies do not keep."""
    session.help_apply()
    session.carry_out_noted()
    _drop_litter(session)
    at, forgotten, has_more, old = whole(now), 0, False, 0
    if limit > 0:
        old = outbox.forget_old(session, at, limit)
        old += sum(one.forget_old(session, now, limit) for one in (access, audit, pipeline))
    ripe = list(session["jobs"].find({"r": {"$lte": at}}).sort("r", 1).limit(_AT_ONCE))
    for entry in session.read(ripe):
        if (room := limit - forgotten) <= 0:
            return Pruned(forgotten + old, more=True)
        count, is_all = _forget(session, entry, at, room)
        forgotten += count
        has_more = has_more or not is_all
    return Pruned(forgotten + old, has_more or forgotten > 0 or len(ripe) == _AT_ONCE)


def _forget(session: MongoSession, entry: MongoEntry, now: int, room: int) -> tuple[int, bool]:
    """Delete old history of one job, at most `room` rows. Returns how many, and whether that was all."""
    if entry.record is None:  # a history that cannot be read stays, and does not block others
        session["jobs"].update_one({"_id": entry.key, "m": entry.raw}, {"$unset": {"r": ""}})
        return 0, True
    if entry.staged is not None and not session.settle_staged((entry,)):
        return 0, False
    trim = trim_of(entry, session.past(entry.key), now, room)
    # The counters are written first: rows that a crash leaves behind are deleted at the next look.
    if not session.write_trim(trim.change):
        return 0, False  # another call has written to it: try again next time
    attempts = [attempt for attempt, _ in trim.gone.attempts]
    session.forget_attempts([run_member(one) for one in attempts], [both(*one.key) for one in attempts])
    if trim.gone.skips:
        names = [skip_member(skip) for skip in trim.gone.skips]
        session["skips"].delete_many({"_id": {"$in": names}})
    return trim.forgotten, trim.is_all


def _drop_litter(session: MongoSession) -> None:
    """Remove what revisions have prepared whose writers have died."""
    found = set(session["jobs"].distinct("next.r", {"next": {"$exists": True}}))
    if found:
        alive = {one["tx"]["id"] for one in session["sources"].find({"tx": {"$exists": True}}, {"tx": 1})}
        for id_ in found - alive:
            session.drop_prepared(id_)
