"""What a job's policy does not keep of its history: the same for every store."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.model.attempt import Attempt, Outcome
from foliot.model.state import Record, Skip


class Seen(NamedTuple):
    """What is known of the rest of a history: so many attempts came after a moment; a success at another."""

    after: datetime | None = None
    newer: int = 0
    success: datetime | None = None


NOTHING_ELSE = Seen()


def keeps_all(record: Record) -> bool:
    """Whether nothing of the job's history is ever superfluous, so that it need not be looked at."""
    keep = record.job.policy.keep
    return keep.last is None and keep.days is None and not keep.problems_only


def superfluous(
    record: Record, history: Iterable[Attempt], now: datetime, seen: Seen = NOTHING_ELSE
) -> list[Attempt]:
    """What the job's policy does not keep. The last run and the last success stay, and runs that are open.

    Of a part of the history no more is found than of the whole.
    """
    keep, state = record.job.policy.keep, record.state
    if keeps_all(record):
        return []
    still_open = {attempt.run_key for attempt in record.attempts}
    newest_first = sorted(history, key=lambda a: (a.scheduled_for, a.number), reverse=True)
    best = next((a for a in newest_first if a.outcome is Outcome.SUCCEEDED), None)
    if best is not None and seen.success is not None and best.scheduled_for < seen.success:
        best = None
    found = []
    for place, attempt in enumerate(newest_first):
        is_older = seen.after is not None and attempt.scheduled_for < seen.after
        position = place + (seen.newer if is_older else 0)
        if attempt is best or attempt.run_key == state.last_run or attempt.run_key in still_open:
            continue
        is_old = keep.days is not None and now - (attempt.finished_at or now) > timedelta(days=keep.days)
        is_surplus = keep.last is not None and position >= keep.last
        is_dull = keep.problems_only and attempt.outcome is Outcome.SUCCEEDED
        if is_old or is_surplus or is_dull:
            found.append(attempt)
    return found


def superfluous_skips(record: Record, skips: Iterable[Skip], now: datetime) -> list[Skip]:
    """Skips that the job's policy does not keep: as old, or as many, as the runs that it does not keep."""
    keep = record.job.policy.keep
    newest_first = sorted(skips, key=lambda skip: (skip.first, skip.last), reverse=True)
    return [
        skip
        for position, skip in enumerate(newest_first)
        if (keep.days is not None and now - skip.last > timedelta(days=keep.days))
        or (keep.last is not None and position >= keep.last)
    ]
