"""Queries about jobs: lists, the next wake, and the overview."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime

from foliot.model.kinds import serves
from foliot.model.query import MOST_LOOKED_AT, JobOrder, JobPage, JobQuery, JobState, JobView
from foliot.model.view import Lane, Overview
from foliot.protocols import Wakes
from foliot.stores.optimistic.entry import Entry
from foliot.stores.pages import is_job_meant, read_place
from foliot.stores.redis import layout
from foliot.stores.redis.asking import pairs, text_of
from foliot.stores.redis.session import RedisSession
from foliot.stores.redis.walk import LAST, merged, parts, rising
from foliot.stores.sql.codes import an_instant, instant, whole

_SETS = {JobState.PAUSED: "paused", JobState.FAILING: "failing"}
_HASHES = {JobState.OPEN: "busy", JobState.DAMAGED: "damaged"}


# -- when to look ----------------------------------------------------------------------------------


def lanes(session: RedisSession) -> dict[str, tuple[str, str]]:
    """The queue and the kind of each lane."""
    return {text_of(id_): tuple(json.loads(names)) for id_, names in pairs(session.ask("HGETALL", "lanes"))}


def wakes(
    session: RedisSession,
    queues: Iterable[str],
    kinds: Collection[str] | None = None,
    due_by: datetime | None = None,
    *,
    after: datetime | None = None,
) -> Wakes:
    """When the next job of these queues and kinds wakes, and how many jobs are due."""
    session.help_apply()
    asked = set(queues)
    ours = [id_ for id_, (queue, kind) in lanes(session).items() if queue in asked and serves(kinds, kind)]
    firsts = [at for at in _first_wakes(session, ours, after) if at is not None]
    due = 0
    if due_by is not None:
        last = layout.time_text(whole(due_by)).encode() + LAST
        due = sum(session.ask_all([("ZLEXCOUNT", f"w:{lane}", "-", b"(" + last) for lane in ours]))
    return Wakes(min(firsts, default=None), due)


def _first_wakes(
    session: RedisSession, ours: Collection[str], after: datetime | None = None
) -> list[datetime | None]:
    first = b"-" if after is None else b"(" + layout.time_text(whole(after)).encode() + LAST
    found = session.ask_all([("ZRANGEBYLEX", f"w:{lane}", first, "+", "LIMIT", 0, 1) for lane in ours])
    return [an_instant(layout.time_number(text_of(first[0]))) if first else None for first in found]


def overview(session: RedisSession) -> Overview:
    """The store at a glance."""
    session.help_apply()
    there, damaged, busy, paused, failing, nodes = session.ask_all(
        [
            ("ZCARD", "keys"),
            ("HKEYS", "damaged"),
            ("HGETALL", "busy"),
            ("ZCARD", "paused"),
            ("ZCARD", "failing"),
            ("HKEYS", "until"),
        ]
    )
    counts = dict(pairs(busy))
    gone = session.ask("ZMSCORE", "gone", *counts) if counts else ()
    known = lanes(session)
    found = zip(known.values(), _first_wakes(session, known), strict=True)
    shown = sorted(Lane(*names, at) for names, at in found if at is not None)
    return Overview(
        jobs=there,
        damaged=len(damaged),
        open_attempts=sum(
            int(n) for n, is_gone in zip(counts.values(), gone, strict=True) if is_gone is None
        ),
        nodes=tuple(sorted(map(text_of, nodes))),
        next_wake_at=min((lane.wake_at for lane in shown), default=None),
        lanes=tuple(shown),
        paused=paused,
        failing=failing,
    )


# -- lists -----------------------------------------------------------------------------------------


def jobs(session: RedisSession, query: JobQuery) -> JobPage:
    """Jobs, with their records. A job that cannot be read is set aside."""
    session.help_apply()
    if query.limit <= 0:
        return JobPage()
    soonest = query.order is JobOrder.SOONEST
    keys = _soonest(session, query) if soonest else _keys(session, query)
    found: list[JobView] = []
    looked, last = 0, ""
    for part in parts(keys, min(500, max(query.limit + 1, 20))):
        for view in _views(session, part):
            last = view.key
            if _is_meant(view, query) and not (soonest and view.damage):
                found.append(view)
            if len(found) > query.limit:
                return JobPage(found[:-1], _place(found[-2], soonest=soonest))
        looked += len(part)
        if looked >= MOST_LOOKED_AT and not soonest:
            return JobPage(found, last)
    return JobPage(found)


def _place(view: JobView, *, soonest: bool) -> str:
    if not soonest or view.record is None or view.record.state.wake_at is None:
        return view.key
    return json.dumps((whole(view.record.state.wake_at), view.key))


def _views(session: RedisSession, keys: list[str]) -> Iterator[JobView]:
    entries = session.entries(keys)
    found = [entries[key] for key in keys if key in entries]
    session.set_aside([entry for entry in found if entry.record is None and not entry.is_unknown_here])
    return map(_view, found)


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


def _keys(session: RedisSession, query: JobQuery) -> Iterator[str]:
    """The keys that may match a query, in order, after a key."""
    after = query.after
    if query.keys is not None:
        return iter(sorted(key for key in query.keys if key > after))
    if query.name is not None:
        sources = [query.source] if query.source is not None else list(_sources(session, query))
        return iter(sorted(key for key in (f"{source}/{query.name}" for source in sources) if key > after))
    if query.state in _HASHES:
        found = map(text_of, session.ask("HKEYS", _HASHES[query.state]))
        return iter(sorted(key for key in found if key > after))
    first, last = f"({after}" if after else "-", "+"
    if query.source is not None:
        first, last = max(first, f"[{query.source}/", key=lambda bound: bound[1:]), f"({query.source}0"
    sets = [_SETS[query.state]] if query.state in _SETS else _with_gone(query)
    return merged(rising(session, name, first, last) for name in sets)


def _with_gone(query: JobQuery) -> list[str]:
    return ["keys", "gone"] if query.with_removed else ["keys"]


def _sources(session: RedisSession, query: JobQuery) -> Iterator[str]:
    """The sources that have jobs: one search for each, behind the last one."""
    for name in _with_gone(query):
        first = "-"
        while found := session.ask("ZRANGEBYLEX", name, first, "+", "LIMIT", 0, 1):
            source = text_of(found[0]).partition("/")[0]
            yield source
            first = f"[{source}0"  # "0" follows "/"


def _soonest(session: RedisSession, query: JobQuery) -> Iterator[str]:
    """Keys in the order of their wakes."""
    first = "-"
    if query.after:
        at, key = read_place(query.after, (int, str))
        first = f"({layout.time_text(int(at))}{key}"
    is_asked: Callable[[str, str], bool] = lambda queue, kind: (  # noqa: E731 - a line of its own reads worse
        query.queue in (None, queue) and query.kind in (None, kind)
    )
    ours = [id_ for id_, names in lanes(session).items() if is_asked(*names)]
    walk = merged(rising(session, f"w:{lane}", first) for lane in ours)
    return (member[layout.DIGITS :] for member in walk)
