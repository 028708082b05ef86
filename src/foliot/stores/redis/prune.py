"""Forgetting what policies do not keep: only histories that are worth a look are read."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from foliot.model.attempt import Attempt, Outcome
from foliot.model.policy import Keep
from foliot.protocols import Pruned
from foliot.stores.optimistic.change import Change, Past
from foliot.stores.optimistic.entry import Entry, Tally
from foliot.stores.redis import access, audit, layout, outbox, pipeline
from foliot.stores.redis.asking import text_of
from foliot.stores.redis.encode import Operation, forget_past
from foliot.stores.redis.session import RedisSession
from foliot.stores.retention import SLACK, next_look, superfluous, superfluous_skips
from foliot.stores.sql.codes import DAY, micros, whole

_SOON = timedelta(minutes=10) // timedelta(
    microseconds=1
)  # what is open may be superfluous when it has ended
_AT_ONCE = 100  # histories that are read in one go


def prune(session: RedisSession, now: datetime, limit: int) -> Pruned:
    """Forget so much of what is worth a look, and of what the store as a whole has no room for."""
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
    return Pruned(forgotten + old, has_more or forgotten > 0 or len(ripe) == _AT_ONCE)


def _bound(session: RedisSession) -> tuple[int | None, list[str]]:
    """If the store keeps more attempts than the URL allows: how many each job may keep, and some of the jobs.

    They are those of the oldest attempts. A job keeps its newest attempt however old that is, so each look
    goes on where the last one ended.
    """
    kept, jobs, gone = session.ask_all([("ZCARD", "e"), ("ZCARD", "keys"), ("ZCARD", "gone")])
    shared = session.shared
    if kept <= shared.history:
        shared.pruned_to = "-"
        return None, []
    found = session.ask("ZRANGEBYLEX", "e", shared.pruned_to, "+", "LIMIT", 0, _AT_ONCE)
    members = [text_of(member) for member in found]
    shared.pruned_to = f"({members[-1]}" if len(members) == _AT_ONCE else "-"
    return max(1, shared.history // max(1, jobs + gone)), [layout.job_of(member) for member in members]


def _forget(session: RedisSession, entry: Entry, now: int, room: int, most: int | None) -> tuple[int, bool]:
    """Forget what one job need not keep, as far as there is room; how much, and whether that was all."""
    record = entry.record
    if record is None:  # a history that cannot be judged stays, and hinders no other
        session.ask("ZREM", "ripe", entry.key)
        return 0, True
    past, keep = session.past(entry.key), record.job.policy.keep
    if most is not None:
        keep = replace(keep, last=most if keep.last is None else min(most, keep.last))
    since = None if keep.days is None else now - keep.days * DAY
    gone = _surplus(past, entry, keep, since)
    is_all = len(gone.attempts) + len(gone.skips) <= room
    attempts = gone.attempts[:room]
    gone = Past(attempts, gone.skips[: room - len(attempts)])
    tally = _next(entry, _without(past, gone), now) if is_all else entry.tally
    change = Change(entry=entry, before=record, after=record, tally=tally, orders=entry.orders)
    operations: list[Operation] = list(forget_past(entry.key, gone))
    if session.write_with(change, operations):
        return len(gone.attempts) + len(gone.skips), is_all
    return 0, False  # another has written meanwhile: the next time


def _surplus(past: Past, entry: Entry, keep: Keep, since: int | None) -> Past:
    """What is not kept, the oldest first."""
    by_order = {order: attempt for attempt, order in past.attempts}
    ended = [(n, micros(a.finished_at), a.outcome is Outcome.SUCCEEDED) for n, a in by_order.items()]
    orders = sorted(superfluous(ended, entry.tally.opened, keep, since))
    skips = sorted(past.skips, key=lambda skip: (skip.first, skip.last))
    places = superfluous_skips([whole(skip.last) for skip in skips], keep, since)
    return Past(tuple((by_order[n], n) for n in orders), tuple(skips[place] for place in places))


def _without(past: Past, gone: Past) -> Past:
    orders, skips = {order for _, order in gone.attempts}, set(gone.skips)
    return Past(
        tuple(pair for pair in past.attempts if pair[1] not in orders),
        tuple(skip for skip in past.skips if skip not in skips),
    )


def _next(entry: Entry, kept: Past, now: int) -> Tally:
    """When the history is worth the next look."""
    tally = entry.tally
    if entry.record is None:
        return tally
    keep = entry.record.job.policy.keep
    trim_at = tally.entries + next_look(keep, len(kept.attempts) + len(kept.skips))
    ends = [_end(attempt) for attempt, _ in kept.attempts] + [whole(skip.last) for skip in kept.skips]
    cut = tally.opened - (keep.last or 0)
    soon = [now + _SOON] if any(order <= cut for order in entry.orders) else []
    if (old := [end for end in ends if end is not None]) and keep.days is not None:
        soon.append(max(min(old) + keep.days * DAY, now + keep.days * DAY // SLACK))
    return tally._replace(trim_at=trim_at, look_at=min(soon, default=None))


def _end(attempt: Attempt) -> int | None:
    return micros(attempt.finished_at)
