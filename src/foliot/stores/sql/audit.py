"""The audit in rows. An entry that cannot be read is left out, and deleted when it is old."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta

from foliot.errors import DamagedRecordError
from foliot.model.access_codec import ENTRY, from_text, to_text
from foliot.model.audit import AUDIT_KEPT_DAYS, AuditEntry, AuditOutcome
from foliot.model.query import AuditPage, AuditQuery
from foliot.stores.sql.codes import UNREADABLE, whole
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.job_queries import read_place
from foliot.stores.sql.old_rows import OldRows, forget_rows
from foliot.stores.sql.rows import Row
from foliot.stores.sql.session import Session

# ruff: noqa: S608 - made of constants only

_EVER, _NEVER = -(2**63), 2**63 - 1
ADD = """
    INSERT INTO audit (id, at, actor, object, text) VALUES (:id, :at, :actor, :object, :text)
    ON CONFLICT DO NOTHING
"""
HELD = "SELECT e.text FROM audit AS e WHERE e.id = :id FOR UPDATE OF e"
SETTLE = "UPDATE audit SET text = :text WHERE id = :id"
OLD = OldRows("audit", "id", "at", "audit_by_time")


def statement(query: AuditQuery) -> str:
    """The statement of a query: it uses the index by object, by actor, or by time."""
    index = "time" if query.actor is None else "actor"
    index = index if query.object is None else "object"
    conditions = [f"e.{name} = :{name}" for name in ("object", "actor") if getattr(query, name) is not None]
    conditions += ["e.at >= :since", "e.at < :until", "(e.at, e.id) < (:at, :id)"]
    return (
        f"SELECT e.text, e.at, e.id FROM audit AS e INDEXED BY audit_by_{index}"
        f" WHERE {' AND '.join(conditions)} ORDER BY e.at DESC, e.id DESC LIMIT :most"
    )


def write_audit(session: Session, *entries: AuditEntry) -> None:
    """Keep entries."""
    for entry in entries:
        text = to_text(ENTRY, entry)
        facts = {"id": entry.id, "actor": entry.actor, "object": entry.object}
        session.dialect.run(ADD, **facts, at=whole(entry.at), text=text)


def settle_audit(
    session: Session,
    entry_id: str,
    outcome: AuditOutcome,
    detail: str | None = None,
    after: str | None = None,
) -> bool:
    """Record how a change ended. Returns whether the entry was still `asked`."""
    entry = next(_read(session.dialect.run(HELD, id=entry_id).fetchall()), None)
    settled = None if entry is None else entry.settled(outcome, detail, after)
    if settled is not None:
        session.dialect.run(SETTLE, id=entry_id, text=to_text(ENTRY, settled))
    return settled is not None


def audit(session: Session, query: AuditQuery) -> AuditPage:
    """Entries, the newest first."""
    number, _, last = query.after.partition(" ")
    at = read_place(number, 1)[0] if query.after else _NEVER
    until = _NEVER if query.until is None else whole(query.until)
    rows = session.dialect.run(
        statement(query),
        actor=query.actor,
        object=query.object,
        since=_EVER if query.since is None else whole(query.since),
        until=min(until, at + 1, _NEVER),  # the database can seek by this bound, but not by the position
        at=at,
        id=last,
        most=query.limit + 1,
    ).fetchall()
    page = rows[: query.limit]
    following = f"{page[-1][1]} {page[-1][2]}" if page and len(rows) > query.limit else None
    return AuditPage(_read(page), following)


def _read(rows: Iterable[Row]) -> Iterator[AuditEntry]:
    for text, *_ in rows:
        with suppress(DamagedRecordError, *UNREADABLE):
            entry: AuditEntry = from_text(ENTRY, text)
            yield entry


def forget_old(dialect: Dialect, now: datetime, limit: int) -> int:
    """Forget entries that are older than what is kept, at most `limit`. Returns how many."""
    return forget_rows(dialect, OLD, now - timedelta(days=AUDIT_KEPT_DAYS), limit)
