"""Counts events quickly: plain numbers in dictionaries. Metrics are made of them at each scrape.

An event costs about half a microsecond here. The client's own objects, with locks and labels, cost several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from re import compile as pattern

from foliot.model.attempt import Attempt, Outcome, Trigger
from foliot.model.decision import Event, Happening
from foliot.model.events import HERD, HerdEnded, HerdStarted, parts_of
from foliot.model.histogram import Histogram
from foliot.observability.log import PROMPT

LATENESS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)
DURATION = (0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)
DELAY = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
TURN = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)

_STARTED, _ENDED, _SKIPPED = Happening.STARTED, Happening.ENDED, Happening.SKIPPED
_NUMBER = pattern(r"\d+")
_MOST_REASONS = 50
_OTHER = "other"
_NOTHING = timedelta(0)


class Tally:
    """Counts of attempts of one job, or of all jobs.

    Each attempt is counted once: in a histogram if it was measured, otherwise in a counter.
    """

    def __init__(self) -> None:
        self.lateness: dict[str, Histogram] = {Trigger.SCHEDULE: Histogram(LATENESS)}
        self.durations: dict[str, Histogram] = {Outcome.SUCCEEDED: Histogram(DURATION)}
        self.delay = Histogram(DELAY)
        self.skipped: dict[str, int] = {}
        self._never_late: dict[str, int] = dict.fromkeys(Trigger, 0)
        self._never_ran: dict[str, int] = dict.fromkeys(Outcome, 0)

    @property
    def started(self) -> dict[str, int]:
        """How many attempts have started, by trigger."""
        return _sums(self._never_late, self.lateness)

    @property
    def ended(self) -> dict[str, int]:
        """How many attempts have ended, by outcome."""
        return _sums(self._never_ran, self.durations)

    def start(self, attempt: Attempt, offset: timedelta | None = None) -> None:
        """An attempt was claimed, and starts at once."""
        trigger, claimed_at = attempt.trigger, attempt.claimed_at
        lateness = self.lateness.get(trigger)
        if lateness is None:
            if trigger not in PROMPT:
                self._never_late[trigger] += 1
                return
            lateness = self.lateness[trigger] = Histogram(LATENESS)
        due_at = attempt.scheduled_for + (offset or _NOTHING)
        lateness.observe(claimed_at - due_at if claimed_at else _NOTHING)

    def end(self, attempt: Attempt, outcome: Outcome) -> None:
        """An attempt has ended; one that never ran has no duration."""
        started_at, finished_at, claimed_at = attempt.started_at, attempt.finished_at, attempt.claimed_at
        if started_at is None or finished_at is None or claimed_at is None:
            self._never_ran[outcome] += 1
            return
        durations = self.durations.get(outcome)
        if durations is None:
            durations = self.durations[outcome] = Histogram(DURATION)
        durations.observe(finished_at - started_at)
        self.delay.observe(started_at - claimed_at)

    def count_herd(self, herd: HerdStarted | HerdEnded) -> None:
        """Attempts that were claimed, or have succeeded, together."""
        if isinstance(herd, HerdStarted):
            self.lateness[Trigger.SCHEDULE].observe(herd.at - herd.scheduled_for, len(herd))
            return
        durations = self.durations[Outcome.SUCCEEDED]
        times = (
            (r.claimed_at, e.started_at, e.finished_at) for r, e in zip(herd.runs, herd.endings, strict=True)
        )
        for (claimed_at, started_at, finished_at), count in Counter(times).items():  # most share their times
            if started_at is None or claimed_at is None:
                self._never_ran[Outcome.SUCCEEDED] += count
            else:
                durations.observe(finished_at - started_at, count)
                self.delay.observe(started_at - claimed_at, count)

    def skip(self, reason: str) -> None:
        """Occurrences were skipped. Numbers in the reason are replaced, so that there are few reasons."""
        reason = _NUMBER.sub("N", reason)
        if reason not in self.skipped and len(self.skipped) >= _MOST_REASONS:
            reason = _OTHER
        self.skipped[reason] = self.skipped.get(reason, 0) + 1


MOST_JOBS = 1000  # most jobs with a gauge of their last success


class Tallies:
    """One tally for all jobs; or one for each job with a label, and one for the rest."""

    def __init__(self, by_job: bool | Collection[str]) -> None:  # noqa: FBT001 - which jobs: all, none, these
        self.is_by_job = bool(by_job)
        self._named = None if by_job is True else frozenset(by_job or ())
        self._rest = Tally()
        self.of_job: dict[str, Tally] = {"": self._rest}
        self.last_success: dict[str, datetime] = {}  # of so many jobs

    def note_success(self, job: str, at: datetime | None) -> None:
        """A job has succeeded at that time."""
        known = self.last_success
        if at is not None and (job in known or len(known) < MOST_JOBS):
            known[job] = max(at, known.get(job, at))

    def count(self, events: Sequence[Event]) -> None:
        """Count events."""
        for part in parts_of(events):
            if isinstance(part, HERD) and not self.is_by_job:
                self._rest.count_herd(part)
                if isinstance(part, HerdEnded):
                    for ending in part.endings:
                        self.note_success(ending.job, ending.finished_at)
            else:
                self._count_each(part)

    def _count_each(self, events: Sequence[Event]) -> None:
        tally, is_by_job = self._rest, self.is_by_job
        for what, job, _, reason, _, _, attempt, offset, _ in events:
            if is_by_job:
                tally = self._of(job)
            if attempt is None:
                if what is _SKIPPED:
                    tally.skip(reason)
            elif what is _STARTED:
                tally.start(attempt, offset)
            elif what is _ENDED and attempt.outcome is not None:
                tally.end(attempt, attempt.outcome)
                if attempt.outcome is Outcome.SUCCEEDED:
                    self.note_success(job, attempt.finished_at)

    def _of(self, job: str) -> Tally:
        if self._named is not None and job not in self._named:
            return self._rest
        found = self.of_job.get(job)
        if found is None:
            found = self.of_job[job] = Tally()
        return found


def _sums(counts: dict[str, int], histograms: dict[str, Histogram]) -> dict[str, int]:
    measured = {name: sum(histogram.counts) for name, histogram in histograms.items()}
    return {name: count + measured.get(name, 0) for name, count in counts.items()}
