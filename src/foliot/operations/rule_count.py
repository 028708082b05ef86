"""How many jobs have each rule: counted portion by portion, so that others have their turn in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from foliot.model.job import Job
from foliot.model.query import MOST_LOOKED_AT
from foliot.protocols import JobQuery, JobView
from foliot.protocols_source import CountsRules
from foliot.schedules import Schedule
from foliot.wiring import FullStore

_PORTION = 20_000  # jobs that a database counts in one go
_PAGE = 4_000  # jobs that are read in one go, where the store does not count


class Rule(NamedTuple):
    """When jobs of a queue run. `is_spread`: they have a splay, so that they do not start all at once."""

    schedule: Schedule
    until: datetime | None
    queue: str
    is_spread: bool

    def occurrences(self, first: datetime, last: datetime) -> int:
        """How many occurrences there are from `first` to `last`, with both."""
        last = last if self.until is None else min(last, self.until)
        return self.schedule.count(first, last) if last >= first else 0


class Rules(NamedTuple):
    """How many jobs have each rule. `is_partial`: there are more jobs than were looked at."""

    counts: Counter[Rule]
    is_partial: bool = False

    def of_queue(self, queue: str | None) -> Rules:
        """Only those of a queue."""
        if queue is None:
            return self
        kept = {rule: count for rule, count in self.counts.items() if rule.queue == queue}
        return self._replace(counts=Counter(kept))


class RuleCount:
    """A count that can be continued. A store that does not count by itself is read up to a limit."""

    def __init__(self, store: FullStore, sources: Sequence[str | None]) -> None:
        self._store = store
        self._sources = list(sources)
        self._after = ""
        self._counts = Counter[Rule]()
        self.looked_at = 0

    @property
    def is_over(self) -> bool:
        """Whether all jobs were looked at, or as many as may be."""
        is_enough = self.looked_at >= MOST_LOOKED_AT and not isinstance(self._store, CountsRules)
        return not self._sources or is_enough

    @property
    def rules(self) -> Rules:
        """What is counted so far."""
        return Rules(self._counts.copy(), bool(self._sources))

    async def go_on(self) -> None:
        """Count the next portion."""
        store, source = self._store, self._sources[0]
        if isinstance(store, CountsRules):
            page = await store.rules(source, self._after, _PORTION)
            self._add(page.jobs)
            self.looked_at, following = self.looked_at + page.looked_at, page.next
        else:
            views = await store.jobs(JobQuery(source=source, after=self._after, limit=_PAGE))
            self._add((view.record.job, 1) for view in views if view.record is not None and _is_on(view))
            self.looked_at, following = self.looked_at + len(views), views.next
        self._after = following or ""
        if following is None:
            self._sources.pop(0)

    def _add(self, jobs: Iterable[tuple[Job, int]]) -> None:
        for job, count in jobs:
            if job.enabled:
                spread = job.policy.splay is not None
                self._counts[Rule(job.schedule, job.repeat_until, job.queue, spread)] += count


async def count_rules(store: FullStore, *sources: str | None) -> Rules:
    """Count all at once."""
    count = RuleCount(store, sources or (None,))
    while not count.is_over:
        await count.go_on()
    return count.rules


def _is_on(view: JobView) -> bool:
    if view.record is None or view.damage is not None:
        return False
    return view.record.state.paused_at is None and view.record.state.removed_at is None
