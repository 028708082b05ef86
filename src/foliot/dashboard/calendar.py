"""The coming week, hour by hour; one hour, minute by minute; and the herds in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, NamedTuple
from urllib.parse import urlencode

from msgspec import Meta, structs
from starlette.responses import Response

from foliot.api.answers import ForecastAnswer
from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.jobs import JobsQuery, page_of_jobs
from foliot.api.problem import problem_of
from foliot.api.rules import ForecastQuery
from foliot.dashboard.drawing import Cell, levels
from foliot.dashboard.forecasts import forecast_of
from foliot.dashboard.route import Pages, Short, filters_of
from foliot.dashboard.times import read_instant
from foliot.dashboard.view import render
from foliot.errors import FoliotError
from foliot.model.access import Scope
from foliot.model.attempt import format_instant
from foliot.model.query import JobOrder
from foliot.schedules.zone import load_zone

pages = Pages("calendar")
_SECOND, _HOUR, _WEEK = timedelta(seconds=1), timedelta(hours=1), timedelta(days=7)
_NONE = timedelta(0)
_LOOKED_AT = 200  # jobs among which those of an hour are looked for


class CalendarQuery(Query, frozen=True):
    """A zone whose clocks the page goes by; a queue, a source; an hour to look into."""

    zone: Short = "UTC"
    queue: Annotated[str, Meta(max_length=400)] | None = None
    source: Annotated[str, Meta(max_length=400)] | None = None
    at: Short = ""


class Day(NamedTuple):
    """A day of the calendar; its cells are those of its hours."""

    name: str
    cells: list[Cell]
    runs: int


@pages.get("/calendar", Scope.READ)
async def calendar_page(call: Call, query: CalendarQuery) -> Response:
    """How many runs come in each hour of a week."""
    problem, at = None, None
    try:
        zone, at = load_zone(query.zone), read_instant(query.at, query.zone, "at")
    except FoliotError as error:  # the page goes by UTC, and tells what is wrong
        problem, zone = problem_of(error), load_zone("UTC")
        query = structs.replace(query, zone="UTC", at="")
    now = await call.ops.store.now()
    first = now.astimezone(zone).replace(minute=0, second=0, microsecond=0).astimezone(UTC)
    asked = ForecastQuery(
        first=first, last=first + _WEEK, zone=query.zone, queue=query.queue, source=query.source
    )
    found = await forecast_of(call, asked)
    hour = None if at is None else at.replace(minute=0, second=0, microsecond=0)
    minutes = await _minutes(call, query, hour) if hour is not None else None
    jobs = await _jobs_of(call, query, hour) if hour is not None else []
    return await render(
        call,
        "calendar.html",
        heading="Calendar",
        api=f"/forecast?{urlencode(_asked(query, first), safe=':/')}",
        query=query,
        problem=problem,
        typed_zone=call.request.query_params.get("zone", query.zone),
        status=422 if problem else 200,
        filters=filters_of(query),
        days=_days(found, query.zone),
        found=found,
        changes=[_change_words(change.at, query.zone) for change in found.clock_changes],
        hour=hour,
        minutes=minutes,
        jobs=jobs,
    )


def _asked(query: CalendarQuery, first: datetime) -> dict[str, str]:
    """The same question, as the API takes it."""
    some = {"queue": query.queue, "source": query.source}
    time = {"from": format_instant(first), "to": format_instant(first + _WEEK), "zone": query.zone}
    return time | {name: value for name, value in some.items() if value is not None}


def _days(found: ForecastAnswer, zone: str) -> list[Day]:
    """The buckets by day of the zone. On the day of a change, an hour is missing, or one comes twice."""
    clock = load_zone(zone)
    steps = levels(bucket.occurrences for bucket in found.buckets)
    changed = {change.at.replace(minute=0, second=0, microsecond=0) for change in found.clock_changes}
    days: dict[str, list[Cell]] = {}
    for bucket, level in zip(found.buckets, steps, strict=True):
        wall = bucket.at.astimezone(clock)
        text = f"{wall:%a} {wall.day} {wall:%b} {wall:%H:%M}"
        cell = Cell(bucket.at, bucket.occurrences, level, bucket.at in changed, text)
        days.setdefault(f"{wall:%a} {wall.day} {wall:%b}", []).append(cell)
    return [Day(name, cells, sum(cell.runs for cell in cells)) for name, cells in days.items()]


def _change_words(at: datetime, zone: str) -> str:
    """`The clocks of Europe/Berlin go back on Sun 25 Oct, from 03:00 CEST to 02:00 CET`."""
    clock = load_zone(zone)
    before, after = (at - _SECOND).astimezone(clock), at.astimezone(clock)
    until = (before.replace(tzinfo=None) + _SECOND).time()
    way = "forward" if (after.utcoffset() or _NONE) > (before.utcoffset() or _NONE) else "back"
    day = f"{after:%a} {after.day} {after:%b}"
    from_to = f"from {until:%H:%M} {before.tzname()} to {after:%H:%M} {after.tzname()}"
    return f"The clocks of {zone} go {way} on {day}, {from_to}"


async def _minutes(call: Call, query: CalendarQuery, hour: datetime) -> list[Cell]:
    asked = ForecastQuery(
        first=hour,
        last=hour + _HOUR,
        zone=query.zone,
        bucket="minute",
        queue=query.queue,
        source=query.source,
    )
    found = await forecast_of(call, asked)
    steps = levels(bucket.occurrences for bucket in found.buckets)
    return [
        Cell(bucket.at, bucket.occurrences, level) for bucket, level in zip(found.buckets, steps, strict=True)
    ]


async def _jobs_of(call: Call, query: CalendarQuery, hour: datetime) -> list[tuple[str, int]]:
    """Jobs that run in an hour, and how often: the soonest ones are looked at."""
    asked = JobsQuery(order=JobOrder.SOONEST, queue=query.queue, source=query.source, limit=_LOOKED_AT)
    views, _ = await page_of_jobs(call, asked)
    found = []
    for view in views:
        if view.record is not None and view.damage is None and view.record.state.paused_at is None:
            count = view.record.job.schedule.count(hour, hour + _HOUR - timedelta(microseconds=1))
            found += [(view.key, count)] if count else []
    return sorted(found, key=lambda one: (-one[1], one[0]))[:50]
