"""Forgetting what policies do not keep: only histories that are worth a look are read."""

from __future__ import annotations

from datetime import datetime

from foliot.protocols import Pruned
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.trim import trim_of
from foliot.stores.redis import access, audit, outbox, pipeline
from foliot.stores.redis.asking import text_of
from foliot.stores.redis.encode import Operation, forget_past
from foliot.stores.redis.session import RedisSession
from foliot.stores.sql.codes import whole

_AT_ONCE = 100  # histories that are read in one go


def prune(session: RedisSession, now: datetime, limit: int) -> Pruned:
    """Forget so much of what is worth a look."""
    session.help_apply()
    at, forgotten, has_more = whole(now), 0, False
    old = 0
    if limit > 0:
        old = outbox.forget_old(session, at, limit)
        old += sum(one.forget_old(session, now, limit) for one in (access, audit, pipeline))
    ripe = session.ask("ZRANGE", "ripe", "-inf", at, "BYSCORE", "LIMIT", 0, _AT_ONCE)
    for entry in session.entries([text_of(key) for key in ripe]).values():
        if (room := limit - forgotten) <= 0:
            return Pruned(forgotten + old, more=True)
        count, is_all = _forget(session, entry, at, room)
        forgotten += count
        has_more = has_more or not is_all
    return Pruned(forgotten + old, has_more or forgotten > 0 or len(ripe) == _AT_ONCE)


def _forget(session: RedisSession, entry: Entry, now: int, room: int) -> tuple[int, bool]:
    """Forget what one job need not keep, as far as there is room; how much, and whether that was all."""
    if entry.record is None:  # a history that cannot be judged stays, and hinders no other
        session.ask("ZREM", "ripe", entry.key)
        return 0, True
    trim = trim_of(entry, session.past(entry.key), now, room)
    operations: list[Operation] = list(forget_past(entry.key, trim.gone))
    if session.write_with(trim.change, operations):
        return trim.forgotten, trim.is_all
    return 0, False  # another has written meanwhile: the next time
