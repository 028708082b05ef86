"""The history of one job: all names are read, but only the attempts that a page shows.

The name of an attempt has its occurrence, or its request (`names.attempt_id`). So a query for the last runs
of a job decodes only as many attempts as it asks for, however long the history is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from foliot.model.attempt import Attempt, format_instant
from foliot.model.query import RunPage, RunQuery, names_of
from foliot.stores.optimistic import rows
from foliot.stores.pages import is_run_meant, page_of_runs, read_place
from foliot.stores.redis import layout
from foliot.stores.redis.asking import text_of
from foliot.stores.redis.session import RedisSession
from foliot.stores.redis.walk import parts
from foliot.stores.sql.codes import UNREADABLE, whole

_AT_LEAST = 20  # attempts that are read at once
_WHERE_TIME_IS = 4  # among the values of an attempt's text


class _Named(NamedTuple):
    """The name of an attempt, in the order of pages. `attempt` is None if it is not read yet."""

    at: int
    request: str
    number: int
    identity: str
    attempt: Attempt | None = None


def runs_of_job(session: RedisSession, job: str, query: RunQuery) -> RunPage:
    """The attempts of one job that match a query, the newest first."""
    found: list[Attempt] = []
    for attempt in _read(session, job, _meant(_all(session, job), job, query), query.limit + 1):
        if not is_run_meant(attempt, query):
            continue
        if len(found) >= query.limit:
            return RunPage(found, place_of(found[-1])) if found else RunPage()
        found.append(attempt)
    return RunPage(found)


def runs_of_key(session: RedisSession, query: RunQuery) -> RunPage:
    """The attempts of one run. Its key may mean runs of several jobs."""
    found: list[Attempt] = []
    for job, at, request in names_of(query.run_key or ""):
        run = f"!{request}" if at is None else f"@{format_instant(at)}"
        named = [one for one in _all(session, job) if one.identity.rpartition("#")[0] == run]
        found += _read(session, job, named, len(named))
    return page_of_runs(found, query)


def place_of(attempt: Attempt) -> str:
    """The position after an attempt, at which the next page begins."""
    return json.dumps((whole(attempt.scheduled_for), attempt.job, attempt.request or "", attempt.number))


def _all(session: RedisSession, job: str) -> list[_Named]:
    """All attempts of a job, open and ended, by their names."""
    entry = session.entries((job,)).get(job)
    attempts = entry.record.attempts if entry is not None and entry.record is not None else ()
    found = [
        _Named(whole(one.scheduled_for), one.request or "", one.number, layout.attempt_id(one), one)
        for one in attempts
    ]
    known = {one.identity for one in found}
    names = [name for name in map(text_of, session.ask("HKEYS", f"h:{job}")) if name not in known]
    asked = [name for name in names if name.startswith("!")]
    texts = session.ask("HMGET", f"h:{job}", *asked) if asked else ()
    for name in names:
        with suppress(*UNREADABLE):
            if not name.startswith("!"):
                at, _, number = name[1:].rpartition("#")
                found.append(_Named(whole(datetime.fromisoformat(at)), "", int(number), name))
    for name, text in zip(asked, texts, strict=True):
        with suppress(*UNREADABLE):
            request, _, number = name[1:].rpartition("#")
            found.append(_Named(int(text.split(b",", 5)[_WHERE_TIME_IS]), request, int(number), name))
    return found


def _meant(named: Sequence[_Named], job: str, query: RunQuery) -> list[_Named]:
    """The names within the period of a query and after its position, the newest first."""
    first = None if query.since is None else whole(query.since)
    end = None if query.until is None else whole(query.until)
    after = read_place(query.after, (int, str, str, int)) if query.after else None
    return sorted(
        (
            one
            for one in named
            if (first is None or one.at >= first)
            and (end is None or one.at < end)
            and query.is_open in (None, one.attempt is not None)
            and (after is None or (one.at, job, one.request, one.number) < after)
        ),
        key=lambda one: one[:3],
        reverse=True,
    )


def _read(session: RedisSession, job: str, named: Sequence[_Named], wanted: int) -> Iterator[Attempt]:
    """The attempts themselves, some at a time. An attempt that was deleted meanwhile is left out."""
    for part in parts(named, max(_AT_LEAST, wanted)):
        ended = [one.identity for one in part if one.attempt is None]
        texts = dict(zip(ended, session.ask("HMGET", f"h:{job}", *ended) if ended else (), strict=True))
        for one in part:
            if one.attempt is not None:
                yield one.attempt
            elif (text := texts[one.identity]) is not None:
                with suppress(*UNREADABLE):
                    yield rows.read_ended(job, text)[0]
