"""What happened last to a job, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from foliot.model.attempt import Attempt, Outcome
from foliot.model.state import Problem, Skip
from foliot.model.view import Outage
from foliot.why.past import late_words
from foliot.why.waiting import outage_words

_NONE = timedelta(0)
_WORDS = {
    Outcome.SUCCEEDED: "succeeded",
    Outcome.FAILED: "failed",
    Outcome.TIMED_OUT: "did not end in time",
    Outcome.CANCELLED: "was cancelled",
    Outcome.INTERRUPTED: "was interrupted",
    Outcome.LOST: "was lost with its node",
}


def told_last(
    ended: Attempt | None,
    skip: Skip | None,
    zone: tzinfo,
    outages: Sequence[Outage] = (),
    offset: timedelta = _NONE,
) -> str | None:
    """What happened last: an attempt that ended, or occurrences that did not run.

    `offset`: how long after its occurrences the job starts.
    """
    if skip is not None and (ended is None or skip.last > ended.scheduled_for):
        missed = outage_words(outages, skip.last + offset) if skip.problem is Problem.MISSED else ""
        first = "" if skip.first == skip.last else f"{_local(skip.first, zone)} to "
        return f"the last time, {first}{_local(skip.last, zone)}, did not run: {skip.reason}{missed}"
    if ended is None or ended.outcome is None:
        return None
    why = ended.error if ended.error and ended.outcome is not Outcome.SUCCEEDED else None
    told = f": {why.partition(chr(10))[0]}" if why else ""
    late = late_words(ended, outages, ended.scheduled_for + offset) if ended.request is None else ""
    return f"the last run, of {_local(ended.scheduled_for, zone)}, {_WORDS[ended.outcome]}{told}{late}"


def _local(instant: datetime, zone: tzinfo) -> str:
    """An instant by the clocks of a zone."""
    return instant.astimezone(zone).isoformat(sep=" ", timespec="seconds" if instant.second else "minutes")
