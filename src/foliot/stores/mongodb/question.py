"""Queries about jobs: lists, the next wake, and the overview."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from foliot.model.kinds import serves
from foliot.model.query import MOST_LOOKED_AT, JobOrder, JobPage, JobQuery, JobState, JobView
from foliot.model.view import Lane, Overview
from foliot.protocols import Wakes
from foliot.stores.mongodb import layout
from foliot.stores.mongodb.burial import ALIVE
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.due import ORDER, page_of_wakes, place_of
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.optimistic.entry import Entry
from foliot.stores.pages import is_job_meant, read_place
from foliot.stores.sql.codes import an_instant, instant, whole

_TAGS = {JobState.PAUSED: layout.PAUSED, JobState.FAILING: layout.FAILING, JobState.DAMAGED: layout.ASIDE}
_PART = 500


# -- when to look ----------------------------------------------------------------------------------


def _lanes(session: MongoSession) -> list[tuple[str, str]]:
    return [layout.split_name(lane) for lane in session.lanes()]


def wakes(
    session: MongoSession,
    queues: Iterable[str],
    kinds: Collection[str] | None = None,
    due_by: datetime | None = None,
    *,
    after: datetime | None = None,
) -> Wakes:
    """When the next job of these queues and kinds wakes, and how many jobs are due."""
    session.help_apply()
    asked = set(queues)
    ours = [names for names in _lanes(session) if names[0] in asked and serves(kinds, names[1])]
    firsts = [at for names in ours if (at := _first_wake(session, names, after)) is not None]
    due = 0
    if due_by is not None and ours:
        lanes = [layout.lane_of(*names) for names in ours]
        due = session["jobs"].count_documents({"q": {"$in": lanes}, "w": {"$lte": whole(due_by)}})
    return Wakes(min(firsts, default=None), due)


def _first_wake(
    session: MongoSession, names: tuple[str, str], after: datetime | None = None
) -> datetime | None:
    bound = {"$exists": True} if after is None else {"$gt": whole(after)}
    wanted = {"q": layout.lane_of(*names), "w": bound}
    found = session["jobs"].find_one(wanted, {"w": 1}, sort=ORDER)
    return None if found is None else an_instant(int(found["w"]))


def overview(session: MongoSession) -> Overview:
    """The store at a glance."""
    session.help_apply()
    jobs = session["jobs"]
    hidden = jobs.count_documents({"z": {"$in": [layout.GONE, layout.HIDDEN]}})
    counts = {tag: jobs.count_documents({"z": tag}) for tag in _TAGS.values()}
    found = [(names, _first_wake(session, names)) for names in _lanes(session)]
    lanes = sorted(Lane(*names, at) for names, at in found if at is not None)
    return Overview(
        jobs=jobs.count_documents({"_id": {"$gte": ""}}, hint="_id_") - hidden,
        damaged=counts[layout.ASIDE],
        open_attempts=_open_attempts(session),
        nodes=tuple(one["_id"] for one in session["nodes"].find(ALIVE, {"_id": 1}).sort("_id", 1)),
        next_wake_at=min((lane.wake_at for lane in lanes), default=None),
        lanes=tuple(lanes),
        paused=counts[layout.PAUSED],
        failing=counts[layout.FAILING],
    )


def _open_attempts(session: MongoSession) -> int:
    steps: list[Document] = [
        {"$match": {"c": {"$exists": True}, "z": {"$ne": layout.GONE}}},
        {"$group": {"_id": None, "count": {"$sum": {"$size": "$c"}}}},
    ]
    return sum(int(one["count"]) for one in session["jobs"].aggregate(steps))


# -- lists -----------------------------------------------------------------------------------------


def jobs(session: MongoSession, query: JobQuery) -> JobPage:
    """Jobs, with their records. A job that cannot be read is set aside."""
    session.help_apply()
    if query.limit <= 0:
        return JobPage()
    is_soonest = query.order is JobOrder.SOONEST
    documents = _soonest(session, query) if is_soonest else _by_key(session, query)
    found: list[JobView] = []
    looked, last = 0, ""
    for part in documents:
        for view in _views(session, part):
            last = view.key
            if _is_meant(view, query) and not (is_soonest and view.damage):
                found.append(view)
            if len(found) > query.limit:
                return JobPage(found[:-1], _place(found[-2], is_soonest=is_soonest))
        looked += len(part)
        if looked >= MOST_LOOKED_AT and not is_soonest:
            return JobPage(found, last)
    return JobPage(found)


def _place(view: JobView, *, is_soonest: bool) -> str:
    if not is_soonest or view.record is None or view.record.state.wake_at is None:
        return view.key
    return json.dumps((whole(view.record.state.wake_at), view.key))


def _views(session: MongoSession, documents: list[Document]) -> list[JobView]:
    found = [entry for entry in session.read(documents) if not entry.is_hidden]
    broken = [one for one in found if one.record is None and not one.is_unknown_here and not one.is_aside]
    session.set_aside(broken)
    return [_view(entry) for entry in found]


def _view(entry: Entry) -> JobView:
    return JobView(entry.key, entry.record, instant(entry.tally.last_success), entry.damage)


def _is_meant(view: JobView, query: JobQuery) -> bool:
    if view.record is not None:
        return is_job_meant(view, query)
    source, _, name = view.key.partition("/")  # of a damaged job only the key is known
    return (
        query.source in (None, source)
        and query.name in (None, name)
        and query.state in (None, JobState.DAMAGED)
        and query.queue is query.kind is None
        and (query.search is None or query.search.casefold() in view.key.casefold())
    )


def _by_key(session: MongoSession, query: JobQuery) -> Iterator[list[Document]]:
    """Jobs that may match a query, in the order of their keys, after a key."""
    bounds: Document = {"$gt": query.after}
    if query.source is not None:
        bounds |= {"$gte": f"{query.source}/", "$lt": f"{query.source}0"}  # "0" follows "/"
    if query.keys is not None:
        bounds["$in"] = sorted(query.keys)
    elif query.name is not None:
        sources = [query.source] if query.source is not None else _sources(session)
        bounds["$in"] = [f"{source}/{query.name}" for source in sources]
    wanted: Document = {"_id": bounds}
    if query.state is JobState.OPEN:
        wanted["c"] = {"$exists": True}
    elif query.state is not None:
        wanted["z"] = _TAGS[query.state]
    elif not query.with_removed:
        wanted["z"] = {"$ne": layout.GONE}
    size = min(_PART, max(query.limit + 1, 20))
    while part := list(session["jobs"].find(wanted).sort("_id", 1).limit(size)):
        yield part
        bounds["$gt"] = part[-1]["_id"]


def _sources(session: MongoSession) -> Iterator[str]:
    """The sources that have jobs: one search for each, behind the last one."""
    after: Document = {"$gt": ""}
    while (found := session["jobs"].find_one({"_id": after}, {"_id": 1}, sort=[("_id", 1)])) is not None:
        source = layout.source_of(found["_id"])
        yield source
        after = {"$gte": f"{source}0"}


def _soonest(session: MongoSession, query: JobQuery) -> Iterator[list[Document]]:
    """Jobs in the order of their wakes."""
    lanes = [
        layout.lane_of(queue, kind)
        for queue, kind in _lanes(session)
        if query.queue in (None, queue) and query.kind in (None, kind)
    ]
    place = None
    if query.after:
        at, key = read_place(query.after, (int, str))
        place = layout.place_of(int(at), str(key))
    while part := page_of_wakes(session["jobs"], lanes, _PART, place):
        yield part
        place = place_of(part[-1])
