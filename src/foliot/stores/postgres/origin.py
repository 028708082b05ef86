"""Where jobs come from: the revision of each source, when it was reached, and how the source fares."""

from __future__ import annotations

from foliot.model.view import SourceView
from foliot.stores.postgres.book import Desk
from foliot.stores.postgres.statement import NOW
from foliot.stores.sql.codes import instant

# ruff: noqa: S608 - made of constants only

_SOURCES = """
    SELECT o.source, o.revision, o.reconciled_at, o.status, (
        SELECT count(*) FROM jobs AS j JOIN states AS s ON s.job_no = j.job_no
        WHERE j.key > o.source || '/' AND j.key < o.source || '0' AND s.removed_at IS NULL
    )
    FROM sources AS o ORDER BY o.source
"""  # "0" follows "/"
_NOTE_REVISION = f"UPDATE sources SET revision = %s, reconciled_at = {NOW} WHERE source = %s"
_FORGET = "DELETE FROM sources WHERE source = %s AND revision IS NOT DISTINCT FROM %s::text RETURNING 1"
_NOTE_STATUS = """
    INSERT INTO sources (source, status) VALUES (%s, %s)
    ON CONFLICT (source) DO UPDATE SET status = excluded.status
"""


def revision(desk: Desk, source: str) -> str | None:
    """The revision that a source was last reconciled to."""
    row = desk.connection.execute("SELECT revision FROM sources WHERE source = %s", (source,)).fetchone()
    return None if row is None else row[0]


def revision_alone(desk: Desk, source: str) -> str | None:
    """The same; nobody else reconciles that source until this transaction has ended."""
    row = None
    while row is None:  # somebody may forget it between the two statements
        desk.connection.execute("INSERT INTO sources (source) VALUES (%s) ON CONFLICT DO NOTHING", (source,))
        row = desk.connection.execute(
            "SELECT revision FROM sources WHERE source = %s FOR UPDATE", (source,)
        ).fetchone()
    return row[0]  # type: ignore[no-any-return] # a row has whatever was asked for


def note_revision(desk: Desk, source: str, revision: str, told: int | None) -> None:
    """The store agrees with a source at a revision, since now."""
    desk.connection.execute(_NOTE_REVISION, (revision, told, source))


def note_status(desk: Desk, source: str, status: str) -> None:
    """Keep how a source fares."""
    desk.connection.execute(_NOTE_STATUS, (source, status))


def forget(desk: Desk, source: str, at: str | None) -> bool:
    """Forget a source, if it is at that revision still."""
    return desk.connection.execute(_FORGET, (source, at)).fetchone() is not None


def sources(desk: Desk) -> tuple[SourceView, ...]:
    """What is known of each source."""
    rows = desk.connection.execute(_SOURCES, binary=True)
    return tuple(
        SourceView(source, revision, count, instant(reconciled_at), status)
        for source, revision, reconciled_at, status, count in rows
    )
