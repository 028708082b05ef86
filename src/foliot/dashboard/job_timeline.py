"""The timeline of a job, and its year of days: what is read for them, and how long a time they show."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from foliot.api.call import Call
from foliot.api.job_history import LedgerQuery, ledger_of
from foliot.dashboard.buckets import Span, gather
from foliot.dashboard.drawing import DayMark, Timeline, days_of_year, timeline
from foliot.operations import Fate, Past, readable
from foliot.protocols import JobView, SkipQuery
from foliot.schedules.zone import load_zone
from foliot.why import zone_of

Zoom = Literal["hour", "day", "week", "year", "auto"]
_SPANS = {"week": timedelta(days=7), "day": timedelta(days=1), "hour": timedelta(hours=1)}
_SMALLEST = timedelta(minutes=10)
_FEW_MARKS, _MOST_MARKS = 80, 320
_HALF_A_YEAR = timedelta(days=190)
_MOST_READ = 5000  # attempts


async def draw_timeline(call: Call, job: JobView, now: datetime, zoom: Zoom, past: Past) -> Timeline:
    """The occurrences around now: without a zoom, as long a time as can be drawn.

    What its rule says of a time in which the job was not there, or had another rule, is no occurrence. If
    there are too many for a mark each, a mark stands for several.
    """
    record = readable(job)
    rule, state = record.job.schedule, record.state
    span = _SPANS.get(zoom, _SPANS["day"])
    while zoom == "auto" and span > _SMALLEST and rule.count(now - span, now + span) > _FEW_MARKS:
        span /= 2
    first, last = now - span, now + span
    since, zone = state.defined_at or state.created_at, load_zone(zone_of(rule) or "UTC")
    if rule.count(first, last) > _MOST_MARKS:
        attempts = await call.ops.attempts(job.key, since=first, limit=_MOST_READ)
        skips = await call.ops.store.skips(SkipQuery(job.key, since=first, limit=_MOST_READ))
        is_on = state.paused_at is None and record.job.enabled
        lines = gather(attempts, skips, rule if is_on else None, Span(first, last, now, since, zone))
    else:
        asked = LedgerQuery(first=first, last=last, limit=_MOST_MARKS)
        found = (await ledger_of(call, job, asked, past)).occurrences
        lines = [one for one in found if one.at >= since or one.verdict != Fate.UNKNOWN]
    return timeline(lines, first, last, now, zone)


async def draw_year(call: Call, job: JobView, now: datetime) -> list[DayMark]:
    """A year of days around now."""
    rule = readable(job).job.schedule
    kept = await call.ops.attempts(job.key, since=now - _HALF_A_YEAR, limit=_MOST_READ)
    return days_of_year(kept, rule, now, load_zone(zone_of(rule) or "UTC"))
