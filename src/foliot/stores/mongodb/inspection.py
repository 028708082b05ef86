"""Inspects a store without changing it: its schema version, and whether its parts agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TypeVar

from foliot.clock import SystemClock
from foliot.errors import StoreUnavailableError
from foliot.model.view import Schema
from foliot.stores.mongodb.address import read_address
from foliot.stores.mongodb.asking import Shared
from foliot.stores.mongodb.connection import DRIVER_ERRORS, Document, connect, translated
from foliot.stores.mongodb.layout import HIDDEN, INDICES, SCHEMA, lane_of
from foliot.stores.mongodb.opening import check_schema, refuse_old
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.sql.codes import micros

Found = TypeVar("Found")
_DEADLINE = timedelta(seconds=5)
_PART = 500


def _looking(url: str, verb: str, look: Callable[[MongoSession], Found]) -> Found:
    address = read_address(url)
    try:
        with connect(address, _DEADLINE) as client:
            shared = Shared(client, address.database, address.prefix, SystemClock(), _DEADLINE)
            session = MongoSession(shared)
            refuse_old(session)
            return look(session)
    except DRIVER_ERRORS as error:
        failure = translated(verb, error)
    raise failure


def look_at_schema(url: str) -> Schema:
    """The schema version of a store. StoreUnavailableError if there is no answer, or no store yet."""
    return _looking(url, "open", _schema)


def _schema(session: MongoSession) -> Schema:
    found = session["meta"].find_one({"_id": "schema"})
    if found is None:
        hint = "`foliot serve` creates it on its first start, and so does `foliot store migrate`"
        name = session.shared.database.name
        raise StoreUnavailableError("open", f"there is no store in the database {name} yet", hint=hint)
    check_schema(found.get("step"))
    return Schema(int(found["step"]), SCHEMA)


def find_flaws(url: str) -> tuple[str, ...]:
    """Contradictions between jobs and indices. This reads the whole store."""
    return _looking(url, "check", lambda session: tuple(_flaws(session)))


def _flaws(session: MongoSession) -> Iterator[str]:
    there = set(session.shared.database.list_collection_names())
    for index in INDICES:
        is_there = session.shared.prefix + index.collection in there
        if is_there and index.name not in session[index.collection].index_information():
            yield f"the index {index.name} of {index.collection} is missing: the next write makes it"
    bounds: Document = {"$gt": ""}
    undue = unheld = 0
    while part := list(session["jobs"].find({"_id": bounds}).sort("_id", 1).limit(_PART)):
        bounds["$gt"] = part[-1]["_id"]
        shown = {one["_id"]: one for one in part if HIDDEN not in (one.get("z") or ())}
        for entry in session.read(list(shown.values())):
            record, document = entry.record, shown[entry.key]
            if record is None or entry.damage is not None:
                continue
            lane = lane_of(record.job.queue, record.job.action.kind)
            wake = micros(record.state.wake_at)
            undue += (document.get("w"), document.get("q")) != (wake, lane)
            nodes = sorted(one.node or "" for one in record.attempts if one.is_running)
            unheld += sorted(one["n"] for one in document.get("c") or () if one["n"]) != nodes
    if undue:
        yield f"{undue} job(s) have a wake or a lane that differs from their record"
    if unheld:
        yield f"{unheld} job(s) are held by other nodes than their records say"
