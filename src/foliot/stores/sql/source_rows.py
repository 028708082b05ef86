"""Rows of sources: the revision of each, when it was reached, and its status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from foliot.model.json_text import clean_text
from foliot.model.version import Revision
from foliot.model.view import SourceView
from foliot.stores.sql.codes import UNREADABLE, instant, micros, whole
from foliot.stores.sql.session import Session

_ADD_REVISION = """
    INSERT INTO source_revisions (source, ordinal, revision, at, added, changed, removed)
    VALUES (:source, :ordinal, :revision, :at, :added, :changed, :removed)
"""
_FORGET_REVISIONS = "DELETE FROM source_revisions WHERE source = :source"


def revision(session: Session, source: str) -> str | None:
    """The revision that a source was last reconciled to."""
    asked = session.dialect.run("SELECT revision FROM sources WHERE source = :source", source=source)
    row = asked.fetchone()
    return None if row is None else row[0]


def revision_alone(session: Session, source: str) -> str | None:
    """The same, with a lock: no other call reconciles that source until this transaction ends."""
    dialect, tables = session.dialect, session.dialect.sources
    while True:
        for sql in tables.make:
            dialect.run(sql, source=source)
        row = dialect.run(tables.find, source=source).fetchone()
        if row is not None:
            found: str | None = row[0]
            return found
        if not tables.make:  # otherwise another call deleted the row between the two statements
            return None


def note_revision(session: Session, source: str, revision: str) -> None:
    """Record that the source is at this revision since now."""
    for sql in session.dialect.sources.note_revision:
        session.dialect.run(sql, source=source, revision=revision)


def write_source_status(session: Session, source: str, status: str) -> None:
    """Write the status of a source."""
    session.dialect.run(session.dialect.sources.note_status, source=source, status=clean_text(status))


def restore_source(
    session: Session, source: str, reconciled_at: datetime | None, revisions: Sequence[Revision]
) -> None:
    """Restore the time and the revisions of a source that was copied from another store."""
    dialect = session.dialect
    dialect.run(dialect.sources.restore, source=source, at=micros(reconciled_at))
    dialect.run(_FORGET_REVISIONS, source=source)
    for one in revisions:
        dialect.run(_ADD_REVISION, **one._replace(at=whole(one.at))._asdict())  # type: ignore[arg-type]  # as it is stored


def forget_source(session: Session, source: str, revision: str | None) -> bool:
    """Forget a source, if it is still at that revision."""
    row = session.dialect.run(session.dialect.sources.find, source=source).fetchone()
    if row is None or row[0] != revision:
        return False
    for sql in (*session.dialect.sources.forget, _FORGET_REVISIONS):
        session.dialect.run(sql, source=source)
    return True


def sources(session: Session, counts: Mapping[str, int]) -> tuple[SourceView, ...]:
    """All sources, each with its number of jobs."""
    rows = session.dialect.run(session.dialect.sources.show).fetchall()
    return tuple(
        SourceView(source, revision, counts.get(source, 0), _reconciled_at(at), status)
        for source, revision, at, status in rows
    )


def _reconciled_at(at: int | None) -> datetime | None:
    """When a source was reconciled. None if that cannot be read; the next reconcile writes it anew."""
    try:
        return instant(at)
    except UNREADABLE:
        return None
