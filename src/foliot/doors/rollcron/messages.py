"""The messages about a followed repository, for the log and for the status in the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from foliot.errors import FoliotError
from foliot.executors.shell.run_as import RunAs
from foliot.model.attempt import format_instant
from foliot.model.job import Job
from foliot.observability.log import tell
from foliot.protocols import Clock
from foliot.sources.git.follow import SourceStatus

_SHOWN = 5
_PAUSE = 5.0  # seconds without a word, and what was passed over has been taken since
_LONG = 10.0  # seconds: until then it is the usual moment between two nodes' pulls


def tell_next_runs(jobs: Sequence[Job], now: datetime) -> None:
    """The next few runs, soonest first, by the names that people gave to their jobs."""
    upcoming = [(job.schedule.next_after(now), job) for job in jobs if job.enabled]
    soonest = sorted((at, job.name, job) for at, job in upcoming if at is not None)
    for at, _, job in soonest[:_SHOWN]:
        tell("next_run", name=job.action.data["name"], due=at.isoformat(timespec="seconds"))


class Failures:
    """Tells of failures; of those in a row that say the same, the 1st, 2nd, 4th, 8th and so on.

    A remote may be away for days; but what fails in a new way is told at once.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._said = ""
        self._count = 0

    def tell(self, status: SourceStatus, error: FoliotError) -> None:
        """Once more, it failed."""
        said = str(error)
        self._count = self._count + 1 if said == self._said else 1
        self._said = said
        if self._count & (self._count - 1) == 0:
            tell(
                "source_failed",
                source=self._source,
                error=said,
                hint=error.hint,
                failures=status.failures,
                since=status.failing_since,
                in_effect=short(status.revision),
            )

    def forget(self) -> None:
        """All is well again."""
        self._said, self._count = "", 0


class Waiting:
    """Tells of jobs that wait for files which do not come: after ten seconds, twenty, forty and so on."""

    def __init__(self, source: str, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._since = self._last = 0.0
        self._next = _LONG

    def note(self, jobs: Sequence[Job], in_effect: str | None) -> None:
        """These were passed over, once more."""
        now = self._clock.monotonic()
        if now - self._last > _PAUSE:
            self._since, self._next = now, _LONG
        self._last = now
        if now - self._since >= self._next:
            self._next *= 2
            tell(
                "jobs_passed_over",
                source=self._source,
                job=jobs[0].key,
                wanted=short(jobs[0].revision),
                in_effect=short(in_effect),
                since=now - self._since,
                others=len(jobs) - 1 or None,
            )


def tell_dropped(source: str, names: Sequence[str], before: int) -> None:
    """A file that loses most of its jobs is more often a mistake than a wish."""
    shown = ", ".join(sorted(names)[:_SHOWN])
    tell("jobs_dropped", source=source, dropped=len(names), of=before, jobs=shown)


def tell_refused_users(source: str, jobs: Sequence[Job], run_as: RunAs) -> None:
    """Jobs that this daemon leaves to others, because it may not run them as their users."""
    refused = [(job, run_as.refusal(job.action.data)) for job in jobs]
    for job, reason in [(job, reason) for job, reason in refused if reason is not None][:_SHOWN]:
        tell("job_unserved", source=source, job=job.key, reason=reason)


def written(status: SourceStatus) -> str:
    """A status as it is kept in the store."""
    facts = {
        "repository": status.repository,
        "revision": status.revision,
        "pulled_at": _instant(status.pulled_at),
        "error": None if status.error is None else str(status.error),
        "hint": None if status.error is None else status.error.hint,
        "failing_since": _instant(status.failing_since),
        "failures": status.failures,
    }
    return json.dumps({name: value for name, value in facts.items() if value is not None})


def short(revision: str | None) -> str | None:
    """A revision as people write it."""
    return None if revision is None else revision[:12]


def _instant(instant: datetime | None) -> str | None:
    return None if instant is None else format_instant(instant.replace(microsecond=0))
