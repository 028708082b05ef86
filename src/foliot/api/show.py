"""From what is stored to what is sent. Payloads are shown to who may operate, and secrets in them never."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from foliot.access import mask_text, mask_value
from foliot.api.answers import (
    ActionAnswer,
    AttemptAnswer,
    JobAnswer,
    RunAnswer,
    SkipAnswer,
    StartAnswer,
    WholeJob,
    Would,
)
from foliot.api.call import Call
from foliot.api.ids import id_of
from foliot.api.terms import Status
from foliot.model.access import Scope
from foliot.model.attempt import Attempt, AttemptState, Outcome
from foliot.model.codec import encode_job
from foliot.model.job import Job
from foliot.model.payload import read_payload
from foliot.model.state import Skip
from foliot.operations import Effect, next_at, state_of
from foliot.operations.run_words import RunWords
from foliot.protocols import JobView
from foliot.schedules.explain import explain

_MILLISECOND = timedelta(milliseconds=1)
_STATUS: dict[AttemptState, Status] = {
    AttemptState.PENDING: "pending",
    AttemptState.RUNNING: "running",
    AttemptState.CANCELLING: "running",
}
_ENDED: dict[Outcome, Status] = {Outcome.SUCCEEDED: "success", Outcome.CANCELLED: "cancelled"}


def utc(instant: datetime | None) -> datetime | None:
    """An instant as it is sent."""
    return None if instant is None else instant.astimezone(UTC)


def definition_of(job: Job) -> dict[str, Any]:
    """A definition as JSON has it, without secrets."""
    masked: dict[str, Any] = mask_value(json.loads(encode_job(job)))
    return masked


# -- jobs ------------------------------------------------------------------------------------------


def show_job(call: Call, view: JobView) -> JobAnswer:
    """A job of a list."""
    return JobAnswer(**_job_fields(call, view, shows_payload=False))


def show_whole_job(call: Call, view: JobView) -> WholeJob:
    """A job with all that is known of it."""
    shows_payload = call.identity.allows(Scope.OPERATE, view.key.partition("/")[0])
    fields = _job_fields(call, view, shows_payload=shows_payload)
    if view.record is None:
        return WholeJob(**fields)
    job, state, _ = view.record
    return WholeJob(
        **fields,
        explanation=explain(job.schedule),
        dialect=getattr(job.schedule, "dialect", None),
        dst=getattr(job.schedule, "dst", None),
        enabled=job.enabled,
        repeat_until=utc(job.repeat_until),
        auto_remove=job.auto_remove,
        policy=definition_of(job)["policy"],
        revision=job.revision or None,
        created_at=utc(state.created_at),
        removed_at=utc(state.removed_at),
    )


def _job_fields(call: Call, view: JobView, *, shows_payload: bool) -> dict[str, Any]:
    source, _, name = view.key.partition("/")
    record = view.record
    job, state, attempts = record or (None, None, ())
    links = {"self": call.link("jobs", view.key)}
    links |= {step: call.link("jobs", view.key, step) for step in ("runs", "occurrences", "why", "versions")}
    return {
        "id": id_of(view.key),
        "key": view.key,
        "source": source,
        "name": name,
        "state": state_of(view),
        "damage": view.problem,
        "schedule": job and str(job.schedule),
        "timezone": getattr(job.schedule, "timezone", None) if job else None,
        "queue": job and job.queue,
        "action": job and _show_action(job, shows_payload=shows_payload),
        "next_at": utc(next_at(view)),
        "paused_at": utc(state.paused_at) if state else None,
        "paused_reason": state.paused_reason if state else None,
        "paused_until": utc(state.paused_until) if state else None,
        "last_outcome": view.last_outcome,
        "last_attempt_at": utc(state.last_attempt_at) if state else None,
        "last_success_at": utc(view.last_success_at),
        "failures_in_row": state.failures_in_row if state else 0,
        "open_runs": tuple(sorted({attempt.run_key for attempt in attempts})),
        "version": state.version if state else 0,
        "links": links,
    }


def _show_action(job: Job, *, shows_payload: bool) -> ActionAnswer:
    data = json.loads(encode_job(job))["action"].get("data", {}) if shows_payload else None
    return ActionAnswer(kind=job.action.kind, payload=mask_value(data))


def show_skip(skip: Skip) -> SkipAnswer:
    """Occurrences that did not run."""
    return SkipAnswer(
        job=skip.job,
        first=skip.first.astimezone(UTC),
        last=skip.last.astimezone(UTC),
        code=skip.code,
        reason=skip.reason,
    )


def show_would(effect: Effect) -> Would | None:
    """What a command would do; None if it was done."""
    if not effect.is_dry_run:
        return None
    return Would(
        starts=tuple(
            StartAnswer(run=s.run, number=s.number, at=utc(s.at), reason=s.reason) for s in effect.starts
        ),
        skips=tuple(map(show_skip, effect.skips)),
        drops=effect.drops,
        cancels=effect.cancels,
        next_at=utc(effect.next_at),
    )


# -- runs ------------------------------------------------------------------------------------------


def status_of(attempt: Attempt) -> Status:
    """How a run stands, in the words of ratd: those of its last attempt."""
    if attempt.outcome is None:
        return _STATUS[attempt.state]
    return _ENDED.get(attempt.outcome, "failed")


def took_ms(attempt: Attempt) -> int | None:
    """How long an attempt ran."""
    if attempt.started_at is None or attempt.finished_at is None:
        return None
    return (attempt.finished_at - attempt.started_at) // _MILLISECOND


def show_run(
    call: Call, attempts: Sequence[Attempt], words: RunWords, *, is_whole: bool = False
) -> RunAnswer:
    """A run, of its attempts, oldest first; in a list its last one is enough."""
    first, last = attempts[0], attempts[-1]
    links = {"self": call.link("runs", last.run_key), "job": call.link("jobs", last.job)}
    payload = None
    if is_whole and call.identity.allows(Scope.OPERATE, last.job.partition("/")[0]):
        payload = mask_value(read_payload(last.payload))
    return RunAnswer(
        id=id_of(last.run_key),
        key=last.run_key,
        job=last.job,
        job_id=id_of(last.job),
        pipeline_id=words.pipeline,
        status=status_of(last),
        outcome=last.outcome,
        trigger=words.trigger,
        reason=last.reason,
        scheduled_for=last.scheduled_for.astimezone(UTC),
        covers_from=utc(first.covers_from),
        created_at=(first.claimed_at or first.scheduled_for).astimezone(UTC),
        started_at=utc(last.started_at or last.claimed_at),  # while it runs, only the claim is known
        finished_at=utc(last.finished_at),
        duration_ms=took_ms(last),
        error=_error(last),
        number=last.number,
        node=last.node,
        payload=payload,
        links=links,
        attempts=tuple(_show_attempt(call, attempt) for attempt in attempts) if is_whole else None,
    )


def _show_attempt(call: Call, attempt: Attempt) -> AttemptAnswer:
    return AttemptAnswer(
        number=attempt.number,
        state=attempt.state,
        outcome=attempt.outcome,
        trigger=attempt.trigger,
        reason=attempt.reason,
        node=attempt.node,
        token=attempt.token,
        claimed_at=utc(attempt.claimed_at),
        started_at=utc(attempt.started_at),
        finished_at=utc(attempt.finished_at),
        duration_ms=took_ms(attempt),
        error=_error(attempt),
        exit_code=attempt.exit_code,
        version=attempt.version or None,
        links={"log": call.link("runs", attempt.run_key, "attempts", str(attempt.number), "log")},
    )


def _error(attempt: Attempt) -> str | None:
    return None if attempt.error is None else mask_text(attempt.error)
