"""Where jobs come from: the revision of each source, when it was reached, and how the source fares."""

from __future__ import annotations

from datetime import datetime

from foliot.model.view import SourceView
from foliot.stores.sql.codes import UNREADABLE, instant, whole
from foliot.stores.sqlite.book import Desk

_SOURCES = """
    SELECT names.source, s.revision, CASE WHEN n.revision = s.revision THEN n.reconciled_at END, n.status, (
        SELECT count(*) FROM jobs AS j CROSS JOIN states AS t ON t.job_no = j.job_no
        WHERE j.key > names.source || '/' AND j.key < names.source || '0' AND t.removed_at IS NULL
    )
    FROM (SELECT source FROM sources UNION SELECT source FROM source_notes) AS names
    LEFT JOIN sources AS s ON s.source = names.source
    LEFT JOIN source_notes AS n ON n.source = names.source
    ORDER BY names.source
"""  # "0" follows "/"
_NOTE_RECONCILED = """
    INSERT INTO source_notes (source, revision, reconciled_at) VALUES (?, ?, ?)
    ON CONFLICT (source) DO UPDATE SET revision = excluded.revision, reconciled_at = excluded.reconciled_at
"""
_NOTE_STATUS = """
    INSERT INTO source_notes (source, status) VALUES (?, ?)
    ON CONFLICT (source) DO UPDATE SET status = excluded.status
"""


def revision(desk: Desk, source: str) -> str | None:
    """The revision that a source was last reconciled to."""
    row = desk.connection.execute("SELECT revision FROM sources WHERE source = ?", (source,)).fetchone()
    return None if row is None else str(row[0])


def note_revision(desk: Desk, source: str, revision: str, now: datetime) -> None:
    """The store agrees with a source at a revision, since now."""
    put = "INSERT OR REPLACE INTO sources (source, revision) VALUES (?, ?)"
    desk.connection.execute(put, (source, revision))
    desk.connection.execute(_NOTE_RECONCILED, (source, revision, whole(now)))


def note_status(desk: Desk, source: str, status: str) -> None:
    """Keep how a source fares."""
    desk.connection.execute(_NOTE_STATUS, (source, status))


def forget(desk: Desk, source: str, at: str | None) -> bool:
    """Forget a source, if it is at that revision still."""
    if revision(desk, source) != at:
        return False
    tables = ("sources", "source_notes")
    gone = [desk.connection.execute(f"DELETE FROM {t} WHERE source = ?", (source,)) for t in tables]  # noqa: S608 - constants
    return any(cursor.rowcount for cursor in gone)


def sources(desk: Desk) -> tuple[SourceView, ...]:
    """What is known of each source."""
    rows = desk.connection.execute(_SOURCES)
    return tuple(
        SourceView(source, revision, count, _moment(reconciled_at), status)
        for source, revision, reconciled_at, status, count in rows
    )


def _moment(reconciled_at: int | None) -> datetime | None:
    """When a source was reconciled; none, if that cannot be read: the next time writes it anew."""
    try:
        return instant(reconciled_at)
    except UNREADABLE:
        return None
