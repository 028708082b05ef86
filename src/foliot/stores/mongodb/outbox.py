"""The outbox of alerts: until they are sent, and for a while after."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime

from foliot.errors import DamagedRecordError
from foliot.model.alert import Alert
from foliot.model.json_text import clean_text
from foliot.model.outbox import KEPT_DAYS, AlertState, ChannelAlert, is_forgotten
from foliot.model.query import MOST_LOOKED_AT, AlertPage, AlertQuery
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.layout import both
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.pages import is_alert_meant, read_place
from foliot.stores.sql.codes import ALERT_CODES, ALERT_STATES, DAY, UNREADABLE, an_instant, instant, whole

_WAITING = ALERT_CODES[AlertState.WAITING]
_ORDER = [("at", 1), ("id", 1)]
_PART = 500


def _read(found: Document) -> ChannelAlert | None:
    try:
        told = ChannelAlert(found["c"], Alert.from_json(found["a"]))
        if found["s"] == _WAITING:
            return told
        at = None if found.get("settled") is None else int(found["settled"])
        return told._replace(
            state=ALERT_STATES[found["s"]], settled_at=instant(at), answer=found.get("answer")
        )
    except (DamagedRecordError, *UNREADABLE):
        return None


def waiting(session: MongoSession, channel: str, limit: int) -> tuple[ChannelAlert, ...]:
    """The alerts that wait for a channel, the oldest first."""
    if limit <= 0:
        return ()
    session.carry_out_noted()
    found = session["alerts"].find({"c": channel, "s": _WAITING}).sort(_ORDER).limit(limit)
    return tuple(told for one in found if (told := _read(one)) is not None)


def waiting_channels(session: MongoSession) -> Mapping[str, datetime]:
    """The channels that alerts wait for, each with the time of the oldest."""
    session.carry_out_noted()
    channels = sorted(session["alerts"].distinct("c", {"s": _WAITING}))
    firsts = {name: session["alerts"].find_one({"c": name, "s": _WAITING}, sort=_ORDER) for name in channels}
    return {name: an_instant(int(one["at"])) for name, one in firsts.items() if one is not None}


def settle(  # noqa: PLR0913, PLR0917 - see the protocol
    session: MongoSession,
    channel: str,
    ids: Collection[str],
    state: AlertState,
    at: datetime,
    answer: str | None = None,
) -> int:
    """Record the end of waiting alerts. Returns how many waited. Of several callers, one settles an alert.

    An alert that is not kept is hidden for a day, because a job's outbox may be carried out twice.
    """
    count = 0
    for name in [both(id_, channel) for id_ in ids]:
        found = session["alerts"].find_one({"_id": name, "s": _WAITING}, {"kind": 1})
        if found is None:
            continue
        said: Document = {"s": ALERT_CODES[state], "settled": whole(at)}
        said["answer"] = None if answer is None else clean_text(answer)
        if is_forgotten(found["kind"], state):
            said["hidden"] = True
        change = session["alerts"].update_one({"_id": name, "s": _WAITING}, {"$set": said})
        count += change.matched_count
    return count


def alerts(session: MongoSession, query: AlertQuery) -> AlertPage:
    """Alerts, the newest first."""
    session.carry_out_noted()
    bounds: Document = {}
    if query.until is not None:
        bounds["$lt"] = whole(query.until)
    if query.since is not None:
        bounds["$gte"] = whole(query.since)
    place = read_place(query.after, (int, str, str)) if query.after else None
    found: list[ChannelAlert] = []
    looked = 0
    while True:
        part = _before(session, bounds, place)
        for one in part:
            place = int(one["at"]), one["id"], one["c"]
            told = None if one.get("hidden") else _read(one)
            if told is None or not is_alert_meant(told, query):
                continue
            if len(found) >= query.limit:
                return AlertPage(found, _place(found[-1])) if found else AlertPage()
            found.append(told)
        looked += len(part)
        if len(part) < _PART:
            return AlertPage(found)
        if looked >= MOST_LOOKED_AT and place is not None:
            return AlertPage(found, json.dumps(place))


def _before(session: MongoSession, bounds: Document, place: tuple[int | str, ...] | None) -> list[Document]:
    """The next alerts after a position, in falling order of times, ids and channels."""
    wanted: Document = {"at": bounds} if bounds else {}
    if place is not None:
        at, id_, channel = place
        behind = [{"at": {"$lt": at}}, {"at": at, "id": {"$lt": id_}}]
        wanted = {**wanted, "$or": [*behind, {"at": at, "id": id_, "c": {"$lt": channel}}]}
    return list(session["alerts"].find(wanted).sort([("at", -1), ("id", -1), ("c", -1)]).limit(_PART))


def _place(told: ChannelAlert) -> str:
    return json.dumps((whole(told.alert.at), told.alert.id, told.channel))


def forget_old(session: MongoSession, now: int, limit: int) -> int:
    """Forget old alerts, at most `limit`. Returns how many; hidden ones do not count."""
    session["alerts"].delete_many({"hidden": True, "at": {"$lt": now - DAY}})
    old = (
        session["alerts"].find({"at": {"$lt": now - KEPT_DAYS * DAY}}, {"_id": 1}).sort("at", 1).limit(limit)
    )
    names = [one["_id"] for one in old]
    return session["alerts"].delete_many({"_id": {"$in": names}}).deleted_count if names else 0
