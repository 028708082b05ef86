"""The audit. An entry that cannot be read is left out, and deleted when it is old."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timedelta

from foliot.errors import DamagedRecordError
from foliot.model.access_codec import ENTRY, from_text, to_text
from foliot.model.audit import AUDIT_KEPT_DAYS, AuditEntry, AuditOutcome
from foliot.model.query import MOST_LOOKED_AT, AuditPage, AuditQuery
from foliot.stores.pages import is_entry_meant, read_place
from foliot.stores.redis.asking import text_of
from foliot.stores.redis.encode import Operation
from foliot.stores.redis.layout import DIGITS, time_number, time_text
from foliot.stores.redis.session import RedisSession
from foliot.stores.redis.walk import falling, parts
from foliot.stores.sql.codes import UNREADABLE, whole


def write_audit(session: RedisSession, *entries: AuditEntry) -> None:
    """Keep entries."""
    for entry in entries:
        member = time_text(whole(entry.at)) + entry.id
        news: list[Operation] = [
            ("HSET", "audit", entry.id, to_text(ENTRY, entry)),
            ("ZADD", "audit_x", 0, member),
        ]
        session.put([("audit", entry.id)], news)


def settle_audit(
    session: RedisSession,
    entry_id: str,
    outcome: AuditOutcome,
    detail: str | None = None,
    after: str | None = None,
) -> bool:
    """Record how a change ended. Returns whether the entry was still `asked`."""
    while True:
        text = session.field("audit", entry_id)
        entry = _read(text)
        settled = None if entry is None else entry.settled(outcome, detail, after)
        if settled is None or text is None:
            return False
        if session.put([("audit", entry_id, text)], [("HSET", "audit", entry_id, to_text(ENTRY, settled))]):
            return True


def _read(text: str | None) -> AuditEntry | None:
    with suppress(DamagedRecordError, *UNREADABLE):
        if text is not None:
            entry: AuditEntry = from_text(ENTRY, text)
            return entry
    return None


def audit(session: RedisSession, query: AuditQuery) -> AuditPage:
    """Entries, the newest first."""
    first = "+" if query.until is None else f"({time_text(whole(query.until))}"
    last = "-" if query.since is None else f"[{time_text(whole(query.since))}"
    if query.after:
        at, id_ = read_place(query.after, (int, str))
        first = f"({time_text(int(at))}{id_}"
    found: list[AuditEntry] = []
    looked = 0
    for part in parts(falling(session, "audit_x", first, last)):
        texts = session.ask("HMGET", "audit", *(member[DIGITS:] for member in part))
        for entry in (_read(text and text_of(text)) for text in texts):
            if entry is None or not is_entry_meant(entry, query):
                continue
            if len(found) >= query.limit:
                following = json.dumps((whole(found[-1].at), found[-1].id)) if found else None
                return AuditPage(found, following)
            found.append(entry)
        looked += len(part)
        if looked >= MOST_LOOKED_AT:
            return AuditPage(found, json.dumps((time_number(part[-1]), part[-1][DIGITS:])))
    return AuditPage(found)


def forget_old(session: RedisSession, now: datetime, limit: int) -> int:
    """Forget entries that are older than what is kept, at most `limit`. Returns how many."""
    return session.forget_before("audit", "audit_x", whole(now - timedelta(days=AUDIT_KEPT_DAYS)), limit)
