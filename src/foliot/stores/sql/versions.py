"""Definitions that jobs had before, and the revisions that sources have been at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from foliot.errors import DamagedRecordError
from foliot.model.damage import damage_of
from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.model.version import (
    KEPT_REVISIONS,
    KEPT_VERSIONS,
    Change,
    Revision,
    Version,
    all_versions,
    change_of,
    ended_version,
    keeps_revisions,
)
from foliot.stores.sql import upsert
from foliot.stores.sql.codes import UNREADABLE, an_instant, micros
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.entry import Entry
from foliot.stores.sql.rows import Row
from foliot.stores.sql.session import Session

_VERSIONS = """
    SELECT version, frame, data, policy_no, from_at, until_at, replaced_by FROM definitions
    WHERE job_no = :job ORDER BY version DESC
"""
_ADD_REVISION = """
    INSERT INTO source_revisions (source, ordinal, revision, at, added, changed, removed)
    SELECT CAST(:source AS text), coalesce(max(ordinal), 0) + 1, CAST(:revision AS text), :present, :added,
        :changed, :removed
    FROM source_revisions WHERE source = :source
"""
_FORGET_REVISIONS = """
    DELETE FROM source_revisions WHERE source = :source
    AND ordinal <= (SELECT max(ordinal) FROM source_revisions WHERE source = :source) - :kept
"""
_REVISIONS = """
    SELECT ordinal, revision, at, added, changed, removed FROM source_revisions
    WHERE source = :source ORDER BY ordinal DESC LIMIT :most
"""


class Differences:
    """The changes of one revision of a source: the definitions that end, and the counts of changed jobs."""

    def __init__(self, dialect: Dialect, source: str, revision: str) -> None:
        self._dialect = dialect
        self._source = source
        self._revision = revision
        self._rows: list[Row] = []
        self._counts: Counter[Change] = Counter()

    def note(self, entry: Entry | None, record: Record | None, decision: Decision) -> None:
        """Note a decision that is not written yet. `record` is None if the job is new or cannot be read."""
        self._counts[change_of(None if record is None else record.state, decision)] += 1
        ended = None if record is None else ended_version(record, decision, self._revision)
        if entry is not None and ended is not None:
            span = micros(ended.since), micros(ended.until), ended.replaced_by
            self._rows.append((entry.job_no, ended.number, *entry.row[2:5], *span))

    def count_new(self, count: int) -> None:
        """Count new jobs."""
        self._counts[Change.ADDED] += count

    def flush(self) -> None:
        """Write the ended definitions. Each one replaces the oldest of its job, if there are too many."""
        self._dialect.upsert(upsert.ADD_DEFINITION, self._rows)
        old = [(row[0], row[1] - KEPT_VERSIONS) for row in self._rows if row[1] > KEPT_VERSIONS]
        self._dialect.delete("definitions", "job_no, version", old)
        self._rows.clear()

    def write_revision(self) -> None:
        """Write the row of the revision, with its counts."""
        if keeps_revisions(self._source):
            added, changed, removed = (
                self._counts[c] for c in (Change.ADDED, Change.CHANGED, Change.REMOVED)
            )
            self._dialect.run(
                _ADD_REVISION, source=self._source, revision=self._revision,
                added=added, changed=changed, removed=removed,
            )  # fmt: skip
            self._dialect.run(_FORGET_REVISIONS, source=self._source, kept=KEPT_REVISIONS)


def versions(session: Session, job: str) -> tuple[Version, ...]:
    """The definitions of a job, the newest first."""
    entry = session.batch(locks=False).by_key((job,)).get(job)
    if entry is None:
        return ()
    rows = session.dialect.run(_VERSIONS, job=entry.job_no).fetchall()
    kept = [_read(session, job, row) for row in rows]
    return tuple(kept) if entry.record is None else all_versions(entry.record, kept)


def _read(session: Session, job: str, row: Row) -> Version:
    number, frame, data, policy_no, since, until, replaced_by = row
    span = an_instant(since), an_instant(until), replaced_by
    try:
        return Version(
            number, session.reader.job(job, frame, data, session.interned.policy(policy_no)), *span
        )
    except (DamagedRecordError, *UNREADABLE) as error:
        return Version(number, None, *span, damage_of(error))


def revisions(session: Session, source: str, limit: int = KEPT_REVISIONS) -> tuple[Revision, ...]:
    """The revisions of a source, the newest first."""
    rows: Sequence[Row] = session.dialect.run(_REVISIONS, source=source, most=limit).fetchall()
    return tuple(
        Revision(source, ordinal, revision, an_instant(at), *counts)
        for ordinal, revision, at, *counts in rows
    )
