"""Pages of lists that are in memory: filter, sort, and cut.

A store that walks an index uses only the filters. A position in a list is the microseconds and the texts by
which the list is sorted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from foliot.model.access import Token
from foliot.model.attempt import Attempt
from foliot.model.audit import AuditEntry
from foliot.model.outbox import ChannelAlert
from foliot.model.pipeline import Pipeline, PipelineStatus
from foliot.model.query import (
    AlertPage,
    AlertQuery,
    AuditPage,
    AuditQuery,
    JobOrder,
    JobPage,
    JobQuery,
    JobState,
    JobView,
    Page,
    PipelinePage,
    PipelineQuery,
    RunPage,
    RunQuery,
    SkipPage,
    SkipQuery,
    TokenPage,
    TokenQuery,
    bad_place,
)
from foliot.model.state import Skip

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_Place = tuple[int | str, ...]
_Entry = TypeVar("_Entry")


def page_of_jobs(views: Iterable[JobView], query: JobQuery) -> JobPage:
    """Jobs by their keys, or the soonest first."""
    meant = (view for view in views if is_job_meant(view, query))
    if query.order is JobOrder.SOONEST:
        return _page(filter(_is_to_be_looked_at, meant), query, _soonest)
    ordered = sorted((view for view in meant if view.key > query.after), key=lambda view: view.key)
    page = ordered[: query.limit]
    return JobPage(page, page[-1].key if page and len(ordered) > len(page) else None)


def page_of_runs(attempts: Iterable[Attempt], query: RunQuery) -> RunPage:
    """Attempts, newest first."""
    meant = (attempt for attempt in attempts if is_run_meant(attempt, query))
    return _page(meant, query, _run_place, is_falling=True)


def page_of_skips(skips: Iterable[Skip], query: SkipQuery) -> SkipPage:
    """Skips, those that end last first."""
    meant = (skip for skip in skips if is_skip_meant(skip, query))
    place_of = _skip_place if query.job is None else _skip_place_of_job
    return _page(meant, query, place_of, is_falling=True)


def page_of_alerts(alerts: Iterable[ChannelAlert], query: AlertQuery) -> AlertPage:
    """Alerts, the newest first."""
    meant = (one for one in alerts if is_alert_meant(one, query))
    return _page(meant, query, _alert_place, is_falling=True)


def page_of_tokens(tokens: Iterable[Token], query: TokenQuery) -> TokenPage:
    """Tokens, the newest first."""
    return _page(tokens, query, _token_place, is_falling=True)


def page_of_audit(entries: Iterable[AuditEntry], query: AuditQuery) -> AuditPage:
    """Entries, the newest first."""
    meant = (one for one in entries if is_entry_meant(one, query))
    return _page(meant, query, _entry_place, is_falling=True)


def page_of_pipelines(pipelines: Iterable[Pipeline], query: PipelineQuery) -> PipelinePage:
    """Pipelines by their names."""
    return _page((one for one in pipelines if _is_pipeline_meant(one, query)), query, _pipeline_place)


# -- what is meant ---------------------------------------------------------------------------------


def is_job_meant(view: JobView, query: JobQuery) -> bool:
    """Whether a query means a job that can be read."""
    record, (source, _, name) = view.record, view.key.partition("/")
    if record is None:
        return False
    job, state, _ = record
    return (
        (query.with_removed or state.removed_at is None)
        and query.source in (None, source)
        and query.name in (None, name)
        and query.queue in (None, job.queue)
        and query.kind in (None, job.action.kind)
        and (query.search is None or query.search.casefold() in view.key.casefold())
        and (query.state is None or _is_in_state(view, query.state))
    )


def _is_in_state(view: JobView, state: JobState) -> bool:
    if state is JobState.DAMAGED or view.record is None:
        return view.damage is not None
    if state is JobState.PAUSED:
        return view.record.state.paused_at is not None
    if state is JobState.FAILING:
        return view.record.state.failures_in_row > 0
    return bool(view.record.attempts)


def _is_to_be_looked_at(view: JobView) -> bool:
    return view.damage is None and view.record is not None and view.record.state.wake_at is not None


def is_run_meant(attempt: Attempt, query: RunQuery) -> bool:
    """Whether a query means an attempt."""
    return (
        query.run_key in (None, attempt.run_key)
        and query.job in (None, attempt.job)
        and query.source in (None, attempt.job.partition("/")[0])
        and query.outcome in (None, attempt.outcome)
        and query.is_open in (None, attempt.is_open)
        and query.node in (None, attempt.node)
        and query.trigger in (None, attempt.trigger)
        and is_within(attempt.scheduled_for, query)
    )


def is_skip_meant(skip: Skip, query: SkipQuery) -> bool:
    """Whether a query means a skip; that it is of its job was looked at before."""
    return query.source in (None, skip.job.partition("/")[0]) and is_within(skip.last, query)


def is_alert_meant(one: ChannelAlert, query: AlertQuery) -> bool:
    """Whether a query means an alert."""
    return (
        query.channel in (None, one.channel)
        and query.job in (None, one.alert.job)
        and query.kind in (None, one.alert.kind)
        and query.state in (None, one.state)
        and is_within(one.alert.at, query)
    )


def is_entry_meant(one: AuditEntry, query: AuditQuery) -> bool:
    """Whether a query means an entry of the audit."""
    return (
        query.actor in (None, one.actor) and query.object in (None, one.object) and is_within(one.at, query)
    )


def _is_pipeline_meant(one: Pipeline, query: PipelineQuery) -> bool:
    return (
        query.namespace in (None, one.namespace)
        and query.layer in (None, one.layer)
        and (query.with_removed or one.status is PipelineStatus.ACTIVE)
        and (query.search is None or query.search.casefold() in str(one.full_name).casefold())
    )


def is_within(instant: datetime, query: RunQuery | SkipQuery | AlertQuery | AuditQuery) -> bool:
    """Whether an instant is within the time of a query."""
    return (query.since is None or instant >= query.since) and (query.until is None or instant < query.until)


# -- places ----------------------------------------------------------------------------------------


def _soonest(view: JobView) -> _Place:
    wake_at = view.record.state.wake_at if view.record else None
    return _micros(wake_at or _EPOCH), view.key


def _run_place(attempt: Attempt) -> _Place:
    return _micros(attempt.scheduled_for), attempt.job, attempt.request or "", attempt.number


def _skip_place(skip: Skip) -> _Place:
    return _micros(skip.last), skip.job, _micros(skip.first)


def _skip_place_of_job(skip: Skip) -> _Place:
    return _micros(skip.first), skip.job, _micros(skip.last)


def _alert_place(one: ChannelAlert) -> _Place:
    return _micros(one.alert.at), one.alert.id, one.channel


def _token_place(one: Token) -> _Place:
    return _micros(one.created_at), one.id


def _entry_place(one: AuditEntry) -> _Place:
    return _micros(one.at), one.id


def _pipeline_place(one: Pipeline) -> _Place:
    return *one.full_name, one.id


def _micros(instant: datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND


def _page(
    entries: Iterable[_Entry],
    query: JobQuery | RunQuery | SkipQuery | AlertQuery | TokenQuery | AuditQuery | PipelineQuery,
    place_of: Callable[[_Entry], Any],
    *,
    is_falling: bool = False,
) -> Page[_Entry]:
    places = [(place_of(entry), entry) for entry in entries]
    if query.after:
        after = read_place(query.after, _SHAPES[place_of])
        places = [pair for pair in places if (pair[0] < after if is_falling else pair[0] > after)]
    places.sort(key=lambda pair: pair[0], reverse=is_falling)
    page = places[: query.limit]
    following = json.dumps(page[-1][0]) if page and len(places) > len(page) else None
    return Page((entry for _, entry in page), following)


_SHAPES: dict[Any, tuple[type, ...]] = {
    _soonest: (int, str),
    _run_place: (int, str, str, int),
    _skip_place: (int, str, int),
    _skip_place_of_job: (int, str, int),
    _alert_place: (int, str, str),
    _token_place: (int, str),
    _entry_place: (int, str),
    _pipeline_place: (str, str, str, str),
}


def read_place(after: str, shape: tuple[type, ...]) -> _Place:
    """A place of what is to be in it; InvalidJobError if no page gave it."""
    try:
        place = json.loads(after)
    except ValueError:
        raise bad_place(after) from None
    if not isinstance(place, list) or tuple(map(type, place)) != shape:
        raise bad_place(after)
    return tuple(place)
