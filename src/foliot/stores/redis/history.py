"""Queries about history: attempts and skips, of one job or of all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.query import MOST_LOOKED_AT, RunPage, RunQuery, SkipPage, SkipQuery
from foliot.model.state import Skip
from foliot.stores.optimistic import rows
from foliot.stores.optimistic.names import beyond
from foliot.stores.pages import is_run_meant, is_skip_meant, page_of_runs, page_of_skips, read_place
from foliot.stores.redis import layout
from foliot.stores.redis.asking import text_of
from foliot.stores.redis.job_history import place_of, runs_of_job, runs_of_key
from foliot.stores.redis.session import RedisSession, read_skip
from foliot.stores.redis.walk import falling, parts
from foliot.stores.sql.codes import UNREADABLE, an_instant, whole


def runs(session: RedisSession, query: RunQuery) -> RunPage:
    """Attempts, open and ended, the newest first."""
    session.help_apply()
    if query.run_key is not None:
        return runs_of_key(session, query)
    if query.job is not None:
        return runs_of_job(session, query.job, query)
    if query.is_open:
        return page_of_runs(_open(session), query)
    return _of_all(session, query)


def _open(session: RedisSession) -> Iterator[Attempt]:
    for part in parts(map(text_of, session.ask("HKEYS", "busy"))):
        for entry in session.entries(part).values():
            yield from entry.record.attempts if entry.record else ()


def _of_all(session: RedisSession, query: RunQuery) -> RunPage:
    """Read the index of all attempts. If few of them match, the page ends after a number of looks."""
    first, last = _bounds(query)
    if query.after:
        at, job, request, number = read_place(query.after, (int, str, str, int))
        first = f"({layout.time_text(int(at))}{job}\0{request}\0{number:010}"
    found: list[Attempt] = []
    walk, looked = falling(session, "e", first, last), 0
    for part in parts(walk):
        for attempt in _attempts(session, part):
            if not is_run_meant(attempt, query):
                continue
            if len(found) >= query.limit:
                return RunPage(found, place_of(found[-1])) if found else RunPage()
            found.append(attempt)
        looked += len(part)
        if looked >= MOST_LOOKED_AT:
            at_, job_, request_, number_ = _parts_of(part[-1])
            if query.source not in (None, job_.partition("/")[0]):
                return RunPage(found, json.dumps((at_, beyond(job_, str(query.source)), "", 0)))
            return RunPage(found, json.dumps((at_, job_, request_, number_)))
    return RunPage(found)


def _bounds(query: RunQuery | SkipQuery) -> tuple[str | bytes, str]:
    """The bounds between which the index is read backwards."""
    first = "+" if query.until is None else f"({layout.time_text(whole(query.until))}"
    last = "-" if query.since is None else f"[{layout.time_text(whole(query.since))}"
    return first, last


def _parts_of(member: str) -> tuple[int, str, str, int]:
    """Time, job, request and number of an attempt."""
    job, rest = member[layout.DIGITS :].split("\0", 1)
    request, number = rest.rsplit("\0", 1)
    return layout.time_number(member), job, request, int(number)


def _attempts(session: RedisSession, members: list[str]) -> Iterator[Attempt]:
    """The attempts of index entries. An attempt that was deleted meanwhile is left out."""
    names = []
    for member in members:
        at, job, request, number = _parts_of(member)
        run = Attempt(job, number, *_ANY, an_instant(at), request=request or None)
        names.append((job, layout.attempt_id(run)))
    ended = session.ask_all([("HGET", f"h:{job}", identity) for job, identity in names])
    open_jobs = {job for (job, _), text in zip(names, ended, strict=True) if text is None}
    entries = session.entries(open_jobs)
    for (job, identity), text in zip(names, ended, strict=True):
        if text is not None:
            with suppress(*UNREADABLE):
                yield rows.read_ended(job, text)[0]
        elif (entry := entries.get(job)) is not None and entry.record is not None:
            yield from (one for one in entry.record.attempts if layout.attempt_id(one) == identity)


_ANY = (Trigger.SCHEDULE, AttemptState.ENDED)  # placeholders: they are not part of an attempt's name


def skips(session: RedisSession, query: SkipQuery) -> SkipPage:
    """Ranges of occurrences that did not run."""
    session.help_apply()
    if query.job is not None:
        return page_of_skips(session.past_skips(query.job), query)
    first, last = _bounds(query)
    if query.after:
        at, job, begin = read_place(query.after, (int, str, int))
        first = f"({layout.time_text(int(at))}{job}\0{layout.time_text(int(begin))}"
    found: list[Skip] = []
    looked = 0
    for part in parts(falling(session, "kx", first, last)):
        for skip in _skips(session, part):
            if not is_skip_meant(skip, query):
                continue
            if len(found) >= query.limit:
                return SkipPage(found, _skip_place(found[-1])) if found else SkipPage()
            found.append(skip)
        looked += len(part)
        if looked >= MOST_LOOKED_AT and query.source is not None:
            return SkipPage(found, _looked_at(part[-1], query.source))
    return SkipPage(found)


def _looked_at(member: str, source: str) -> str:
    job, begin = member[layout.DIGITS :].split("\0")
    at = layout.time_number(member)
    if job.partition("/")[0] != source:
        return json.dumps((at, beyond(job, source), 0))
    return json.dumps((at, job, layout.time_number(begin)))


def _skip_place(skip: Skip) -> str:
    return json.dumps((whole(skip.last), skip.job, whole(skip.first)))


def _skips(session: RedisSession, members: list[str]) -> Iterator[Skip]:
    names = []
    for member in members:
        job, begin = member[layout.DIGITS :].split("\0")
        names.append((job, f"{begin}{member[: layout.DIGITS]}"))
    reasons = session.ask_all([("HGET", f"k:{job}", name) for job, name in names])
    for (job, name), reason in zip(names, reasons, strict=True):
        if reason is not None:
            yield read_skip(job, name.encode(), reason)
