"""The expression lab, and how many occurrences come."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Annotated, Literal

from msgspec import Meta

from foliot.api.answers import (
    BucketAnswer,
    ClockChangeAnswer,
    CronAnswer,
    ForecastAnswer,
    HerdAnswer,
)
from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.jobs import Text
from foliot.api.problem import ProblemError
from foliot.api.reading import Instant
from foliot.api.route import Group
from foliot.model.access import Scope
from foliot.operations.forecast import Bucket, forecast
from foliot.operations.herd import NO_ROOM, Herd, find_room
from foliot.schedules import Cron
from foliot.schedules.explain import explain
from foliot.schedules.lint import lint
from foliot.schedules.zone import load_zone

routes = Group("rules")
_BUCKETS = {
    "hour": (timedelta(hours=1), timedelta(days=8)),
    "minute": (timedelta(minutes=1), timedelta(days=1)),
}


class CronQuery(Query, frozen=True, rename={"begin": "from"}):
    """An expression, and how many of its occurrences to tell, from a time on."""

    expr: Annotated[str, Meta(min_length=1, max_length=1000)]
    timezone: Text = "UTC"
    dialect: Text = "standard"
    dst: Text = "exact"
    n: Annotated[int, Meta(ge=0, le=200)] = 5
    begin: Instant | None = None


@routes.get("/cron", Scope.READ, is_heavy=True)
async def explain_cron(call: Call, query: CronQuery) -> CronAnswer:
    """Tell what a cron expression means, when it fires, and what may surprise."""
    rule = Cron(query.expr, timezone=query.timezone, dialect=query.dialect, dst=query.dst)  # type: ignore[arg-type] # it refuses others
    begin = query.begin or await call.ops.store.now()
    return CronAnswer(
        expression=rule.expression, canonical=rule.canonical, dialect=rule.dialect, dst=rule.dst,
        timezone=rule.timezone,
        explanation=explain(rule), occurrences=tuple(rule.upcoming(begin, query.n)),
        findings=tuple(
            {"code": one.code, "severity": one.severity, "message": one.message} for one in lint(rule, begin)
        ),
    )  # fmt: skip


class ForecastQuery(Query, frozen=True, rename={"first": "from", "last": "to"}):
    """A time to come, at most 8 days by the hour or a day by the minute; without one, the next day."""

    first: Instant | None = None
    last: Instant | None = None
    zone: Text = "UTC"
    bucket: Literal["hour", "minute"] = "hour"
    queue: Text | None = None
    source: Text | None = None


@routes.get("/forecast", Scope.READ, is_heavy=True)
async def show_forecast(call: Call, query: ForecastQuery) -> ForecastAnswer:
    """Count the occurrences to come, by the hour or by the minute; warn if nodes have too few slots.

    Of very many jobs, the first answers are partial, until all are counted.
    """
    return (await foretell(call, query))[0]


async def foretell(call: Call, query: ForecastQuery) -> tuple[ForecastAnswer, bool]:
    """The forecast, and whether jobs are still being counted for it."""
    size, most = _BUCKETS[query.bucket]
    load_zone(query.zone)
    first = (query.first or await call.ops.store.now()).astimezone(UTC)
    last = (query.last or first + timedelta(days=1)).astimezone(UTC)
    if not timedelta(0) < last - first <= most:
        detail = f"`to` must come after `from`, by {most.days} days at most with buckets of a {query.bucket}"
        raise ProblemError(422, "INVALID", detail, hint="ask for a shorter time, or by the hour")
    room = await find_room(call.ops) if call.identity.sources is None else NO_ROOM
    rules, is_growing = await call.service.rules.of(call.seen_sources(query.source))
    found = await forecast(rules.of_queue(query.queue), first, last, size, query.zone, room=room)
    answer = ForecastAnswer(
        zone=query.zone, bucket=query.bucket, buckets=_show(found.buckets), peaks=_show(found.peaks),
        herds=tuple(_show_herd(herd) for herd in found.herds),
        clock_changes=tuple(
            ClockChangeAnswer(at=one.at, before=one.before, after=one.after) for one in found.changes
        ),
        jobs=found.jobs, partial=found.is_partial,
    )  # fmt: skip
    return answer, is_growing


def _show_herd(herd: Herd) -> HerdAnswer:
    return HerdAnswer(**herd._asdict(), text=str(herd))


def _show(buckets: tuple[Bucket, ...]) -> tuple[BucketAnswer, ...]:
    return tuple(BucketAnswer(at=one.at, occurrences=one.occurrences) for one in buckets)
