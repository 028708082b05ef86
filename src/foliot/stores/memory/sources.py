"""What the memory store keeps of sources: where each stands, how it fares, and its revisions."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from datetime import datetime

from foliot.model.state import Record
from foliot.model.version import KEPT_REVISIONS, Change, Revision, keeps_revisions
from foliot.model.view import SourceView


class Sources:
    """The sources that were reconciled, or whose status was written."""

    def __init__(self) -> None:
        self._views: dict[str, SourceView] = {}
        self._revisions: dict[str, deque[Revision]] = {}  # the newest first

    def revision(self, source: str) -> str | None:
        """The revision that a source is at."""
        known = self._views.get(source)
        return known.revision if known else None

    def note(self, source: str, revision: str, at: datetime, changes: Iterable[Change]) -> None:
        """A source is at a revision, which has changed so much."""
        known = self._views.get(source, SourceView(source))
        self._views[source] = known._replace(revision=revision, reconciled_at=at)
        if keeps_revisions(source):
            kept, counts = self._revisions.setdefault(source, deque(maxlen=KEPT_REVISIONS)), Counter(changes)
            ordinal = kept[0].ordinal + 1 if kept else 1
            counted = (counts[change] for change in (Change.ADDED, Change.CHANGED, Change.REMOVED))
            kept.appendleft(Revision(source, ordinal, revision, at, *counted))

    def revisions(self, source: str, limit: int) -> tuple[Revision, ...]:
        """The revisions of a source, the newest first."""
        return tuple(self._revisions.get(source, ()))[:limit]

    def write_status(self, source: str, status: str) -> None:
        """Write the status of a source."""
        self._views[source] = self._views.get(source, SourceView(source))._replace(status=status)

    def restore(self, source: str, at: datetime | None, revisions: Iterable[Revision]) -> None:
        """Restore the time and the revisions of a source that was copied from another store."""
        if source in self._views:
            self._views[source] = self._views[source]._replace(reconciled_at=at)
            self._revisions[source] = deque(revisions, maxlen=KEPT_REVISIONS)

    def forget(self, source: str, revision: str | None) -> bool:
        """Forget a source, if it is still at that revision."""
        if source not in self._views or self._views[source].revision != revision:
            return False
        del self._views[source]
        self._revisions.pop(source, None)
        return True

    def shown(self, records: Iterable[Record]) -> tuple[SourceView, ...]:
        """The sources, each with how many jobs it declares."""
        counts = Counter(record.job.source for record in records if record.state.removed_at is None)
        return tuple(view._replace(jobs=counts[name]) for name, view in sorted(self._views.items()))
