"""Deletes history that no policy keeps. Only a history with enough to delete is read."""

from __future__ import annotations

from datetime import datetime

from foliot.protocols import Pruned
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.names import job_of
from foliot.stores.optimistic.trim import trim_of
from foliot.stores.redis import access, audit, outbox, pipeline
from foliot.stores.redis.asking import text_of
from foliot.stores.redis.encode import Operation, forget_past
from foliot.stores.redis.migration import go_on
from foliot.stores.redis.session import RedisSession
from foliot.stores.sql.codes import whole

_AT_ONCE = 100  # histories that are read in one go


def prune(session: RedisSession, now: datetime, limit: int) -> Pruned:
    """Delete history that policies do not keep, and history beyond the bound of the whole store."""
    session.help_apply()
    at, forgotten, has_more = whole(now), 0, False
    old = 0
    if limit > 0:
        old = outbox.forget_old(session, at, limit)
        old += sum(one.forget_old(session, now, limit) for one in (access, audit, pipeline))
    ripe = session.ask("ZRANGE", "ripe", "-inf", at, "BYSCORE", "LIMIT", 0, _AT_ONCE)
    most, oldest = _bound(session)
    keys = dict.fromkeys([*map(text_of, ripe), *oldest])
    for entry in session.entries(list(keys)).values():
        if (room := limit - forgotten) <= 0:
            return Pruned(forgotten + old, more=True)
        count, is_all = _forget(session, entry, at, room, most)
        forgotten += count
        has_more = has_more or not is_all
    has_more = has_more or forgotten > 0 or len(ripe) == _AT_ONCE
    return Pruned(forgotten + old, has_more or not go_on(session))


def _bound(session: RedisSession) -> tuple[int | None, list[str]]:
    """If the store has more attempts than its URL allows: how many each job may keep, and some of the jobs.

    These are the jobs of the oldest attempts. A job keeps its newest attempt, however old that is; so each
    look continues where the last one ended.
    """
    kept, jobs, gone = session.ask_all([("ZCARD", "e"), ("ZCARD", "keys"), ("ZCARD", "gone")])
    shared = session.shared
    if kept <= shared.history:
        shared.pruned_to = "-"
        return None, []
    found = session.ask("ZRANGEBYLEX", "e", shared.pruned_to, "+", "LIMIT", 0, _AT_ONCE)
    members = [text_of(member) for member in found]
    shared.pruned_to = f"({members[-1]}" if len(members) == _AT_ONCE else "-"
    return max(1, shared.history // max(1, jobs + gone)), [job_of(member) for member in members]


def _forget(session: RedisSession, entry: Entry, now: int, room: int, most: int | None) -> tuple[int, bool]:
    """Delete old history of one job, at most `room` rows. Returns how many, and whether that was all."""
    if entry.record is None:  # a history that cannot be read stays, and does not block others
        session.ask("ZREM", "ripe", entry.key)
        return 0, True
    trim = trim_of(entry, session.past(entry.key), now, room, most)
    operations: list[Operation] = list(forget_past(entry.key, trim.gone))
    if session.write_with(trim.change, operations):
        return trim.forgotten, trim.is_all
    return 0, False  # another call has written to it: try again next time
