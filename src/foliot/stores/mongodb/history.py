"""Queries about history: attempts and skips, of one job or of all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from heapq import merge
from typing import Any

from foliot.model.attempt import Attempt
from foliot.model.query import MOST_LOOKED_AT, RunPage, RunQuery, SkipPage, SkipQuery, names_of
from foliot.model.state import Skip
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.session import MongoSession, read_skip
from foliot.stores.optimistic.names import beyond, run_member, time_text
from foliot.stores.optimistic.rows import read_ended
from foliot.stores.pages import is_run_meant, is_skip_meant, page_of_runs, page_of_skips, read_place
from foliot.stores.sql.codes import UNREADABLE, whole

_PART = 500


def runs(session: MongoSession, query: RunQuery) -> RunPage:
    """Attempts, open and ended, the newest first."""
    session.help_apply()
    if query.run_key is not None:
        return page_of_runs(_of_jobs(session, {name.job for name in names_of(query.run_key)}), query)
    if query.job is not None:
        return page_of_runs(_of_jobs(session, {query.job}), query)
    if query.is_open:
        return page_of_runs(_open(session), query)
    return _of_all(session, query)


def _of_jobs(session: MongoSession, jobs: Iterable[str]) -> Iterator[Attempt]:
    """Open attempts are read first: one that ends meanwhile is found twice, and counts as ended."""
    keys = list(jobs)
    entries = session.peek(keys)
    found = {
        one.key: one for entry in entries.values() for one in (entry.record.attempts if entry.record else ())
    }
    for key in keys:
        session.settle_past(key)
    if entries:
        for one in session["history"].find({"j": {"$in": list(entries)}}):
            attempt = _ended(one)
            if attempt is not None:
                found[attempt.key] = attempt
    return iter(found.values())


def _ended(document: Document) -> Attempt | None:
    with suppress(*UNREADABLE):
        return read_ended(document["j"], document["a"])[0]
    return None


def _open(session: MongoSession) -> Iterator[Attempt]:
    bounds: Document = {"$gt": ""}
    wanted: Document = {"c": {"$exists": True}, "_id": bounds}
    while part := list(session["jobs"].find(wanted).sort("_id", 1).limit(_PART)):
        for entry in session.read(part):
            yield from entry.record.attempts if entry.record else ()
        bounds["$gt"] = part[-1]["_id"]


def _of_all(session: MongoSession, query: RunQuery) -> RunPage:
    """Open and ended attempts in one list. If few of them match, the page ends after a number of looks."""
    bounds = _bounds(query)
    if query.after:
        at, job, request, number = read_place(query.after, (int, str, str, int))
        bounds["$lt"] = f"{time_text(int(at))}{job}\0{request}\0{number:010}"
    is_past = query.is_open is False or query.outcome is not None
    waiting = {} if is_past else {run_member(one): one for one in _open(session) if is_run_meant(one, query)}
    session.carry_out_noted()
    opened = sorted((name for name in waiting if _is_between(name, bounds)), reverse=True)
    found: list[Attempt] = []
    looked = 0
    for name, one in _merged(opened, _falling(session, "history", bounds)):
        attempt = waiting.get(name) if one is None else _ended(one)
        looked += one is not None
        if attempt is not None and (one is None or is_run_meant(attempt, query)):
            if len(found) >= query.limit:
                return RunPage(found, _place(found[-1])) if found else RunPage()
            found.append(attempt)
        if looked >= MOST_LOOKED_AT and one is not None and attempt is not None:
            return RunPage(found, _place(attempt, query.source))
    return RunPage(found)


def _merged(opened: list[str], past: Iterator[Document]) -> Iterator[tuple[str, Document | None]]:
    """Open and ended attempts in falling order of names. One that is in both lists counts as ended."""
    walks: Any = (((name, None) for name in opened), ((one["_id"], one) for one in past))
    last: tuple[str, Document | None] | None = None
    for pair in merge(*walks, key=lambda pair: (pair[0], pair[1] is not None), reverse=True):
        if last is None or last[0] != pair[0]:
            yield pair
        last = pair


def _is_between(name: str, bounds: Document) -> bool:
    return bounds.get("$gte", "") <= name and ("$lt" not in bounds or name < bounds["$lt"])


def _bounds(query: RunQuery | SkipQuery) -> Document:
    """The bounds of the names to read."""
    bounds: Document = {"$gte": ""}
    if query.until is not None:
        bounds["$lt"] = time_text(whole(query.until))
    if query.since is not None:
        bounds["$gte"] = time_text(whole(query.since))
    return bounds


def _falling(session: MongoSession, name: str, bounds: Document) -> Iterator[Document]:
    """Documents in falling order of ids. Only as many are read as the caller takes."""
    asked = dict(bounds)
    while part := list(session[name].find({"_id": asked}).sort("_id", -1).limit(_PART)):
        yield from part
        asked["$lt"] = part[-1]["_id"]


def _place(attempt: Attempt, source: str | None = None) -> str:
    """The position of a page's end. For a client of one source it contains no names of other sources."""
    at = whole(attempt.scheduled_for)
    if source not in (None, attempt.job.partition("/")[0]):
        return json.dumps((at, beyond(attempt.job, str(source)), "", 0))
    return json.dumps((at, attempt.job, attempt.request or "", attempt.number))


def skips(session: MongoSession, query: SkipQuery) -> SkipPage:
    """Ranges of occurrences that did not run."""
    session.help_apply()
    if query.job is not None:
        session.settle_past(query.job)
        return page_of_skips(session.past_skips(query.job), query)
    session.carry_out_noted()
    bounds = _bounds(query)
    if query.after:
        at, job, begin = read_place(query.after, (int, str, int))
        bounds["$lt"] = f"{time_text(int(at))}{job}\0{time_text(int(begin))}"
    found: list[Skip] = []
    for looked, one in enumerate(_falling(session, "skips", bounds), 1):
        skip = read_skip(one)
        if is_skip_meant(skip, query):
            if len(found) >= query.limit:
                return SkipPage(found, _skip_place(found[-1])) if found else SkipPage()
            found.append(skip)
        if looked >= MOST_LOOKED_AT and query.source is not None:
            return SkipPage(found, _skip_place(skip, query.source))
    return SkipPage(found)


def _skip_place(skip: Skip, source: str | None = None) -> str:
    """The same for skips."""
    if source not in (None, skip.job.partition("/")[0]):
        return json.dumps((whole(skip.last), beyond(skip.job, str(source)), 0))
    return json.dumps((whole(skip.last), skip.job, whole(skip.first)))
