"""Where jobs come from: the revision of each source, when it was reached, and how the source fares."""

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
    """The same; no other call reconciles that source until this transaction has ended."""
    dialect, tables = session.dialect, session.dialect.sources
    while True:
        for sql in tables.make:
            dialect.run(sql, source=source)
        row = dialect.run(tables.find, source=source).fetchone()
        if row is not None:
            found: str | None = row[0]
            return found
        if not tables.make:  # otherwise it was forgotten between the two statements
            return None


def note_revision(session: Session, source: str, revision: str) -> None:
    """The store agrees with a source at a revision, since now."""
    for sql in session.dialect.sources.note_revision:
        session.dialect.run(sql, source=source, revision=revision)


def write_source_status(session: Session, source: str, status: str) -> None:
    """Keep how a source fares."""
    session.dialect.run(session.dialect.sources.note_status, source=source, status=clean_text(status))


def restore_source(
    session: Session, source: str, reconciled_at: datetime | None, revisions: Sequence[Revision]
) -> None:
    """Put what a copied source had in the place of what its copy has."""
    dialect = session.dialect
    dialect.run(dialect.sources.restore, source=source, at=micros(reconciled_at))
    dialect.run(_FORGET_REVISIONS, source=source)
    for one in revisions:
        dialect.run(_ADD_REVISION, **one._replace(at=whole(one.at))._asdict())  # type: ignore[arg-type]  # as it is stored


def forget_source(session: Session, source: str, revision: str | None) -> bool:
    """Forget a source, if it is at that revision still."""
    row = session.dialect.run(session.dialect.sources.find, source=source).fetchone()
    if row is None or row[0] != revision:
        return False
    for sql in (*session.dialect.sources.forget, _FORGET_REVISIONS):
        session.dialect.run(sql, source=source)
    return True


def sources(session: Session, counts: Mapping[str, int]) -> tuple[SourceView, ...]:
    """What is known of each source, with as many jobs as were counted."""
    rows = session.dialect.run(session.dialect.sources.show).fetchall()
    return tuple(
        SourceView(source, revision, counts.get(source, 0), _reconciled_at(at), status)
        for source, revision, at, status in rows
    )


def _reconciled_at(at: int | None) -> datetime | None:
    """When a source was reconciled; none, if that cannot be read: the next time writes it anew."""
    try:
        return instant(at)
    except UNREADABLE:
        return None
