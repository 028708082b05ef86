"""Which definition of a job decided about an instant that is over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from foliot.model.attempt import Attempt
from foliot.model.version import Version
from foliot.why.answer import time_text


def version_at(versions: Sequence[Version], runs: Iterable[Attempt], at: datetime) -> Version | None:
    """The definition that started the run of an instant, or that was valid then; None if unknown."""
    started = max((run.version for run in _own(runs, at)), default=0)
    if started:
        return next((version for version in versions if version.number == started), None)
    held = (v for v in versions if v.since <= at and (v.until is None or at < v.until))
    return next(held, None)


def was_started_uncounted(runs: Iterable[Attempt], at: datetime) -> bool:
    """Whether an older program, which does not count versions, has started the run of an instant."""
    started = [run for run in _own(runs, at) if run.node is not None]
    return bool(started) and not any(run.version for run in started)


def away(versions: Sequence[Version], at: datetime) -> str:
    """Explain an instant between two versions, when the job was removed."""
    for later, earlier in pairwise(versions):
        if earlier.until is not None and earlier.until < at < later.since:
            gone, back = time_text(earlier.until), time_text(later.since)
            return f"the job was removed at {gone}, and came back at {back}"
    return ""


def _own(runs: Iterable[Attempt], at: datetime) -> list[Attempt]:
    return [run for run in runs if run.request is None and run.scheduled_for == at]
