"""Jobs, states, attempts and events as JSON, both ways, for stores.

A job is a text: canonical, so that the same job has the same text, and bounded (`json_text`). What is read
is only data: it selects from what code knows, nothing is imported or evaluated. Whatever is wrong with
a text, the answer is a DamagedRecordError that names the field, so a store can set the job aside.

Fields that this version does not know are kept in `Job.extra`, as a tree in the form of the job: a field
`colour` of the job under `colour`, a field `policy.retry.budget` as `{"policy": {"retry": {"budget": …}}}`.
Writing puts them back. Only a schedule is refused if it has fields that are not known.

States and attempts are plain JSON objects, for stores that keep documents: what is None is left out,
instants are in UTC with a `Z`. Fields that are not known are left aside; a store changes the ones that
are, in place.
"""

from __future__ import annotations

from typing import Any

from foliot.errors import DamagedRecordError, InvalidJobError
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.decision import Event, Happening
from foliot.model.job import Action, Job
from foliot.model.json_text import MisfitError, read_object, write_json
from foliot.model.policy_codec import POLICY, policy_text, read_policy
from foliot.model.schedule_codec import SCHEDULE
from foliot.model.shape import (
    DATA,
    DURATION,
    FLAG,
    INSTANT,
    MESSAGE,
    NOTHING,
    TEXT,
    WHOLE,
    Kind,
    Shape,
    choice,
    optional,
    part,
)
from foliot.model.state import State
from foliot.model.watch import WATCH

_INSTANT_OR_NONE = optional(INSTANT)
_TEXT_OR_NONE = optional(TEXT)
_OMITTED = ("group",)  # a job without a group has the text that older programs write

ACTION = Shape(Action, {"kind": TEXT, "data": DATA}, required=("kind",))
JOB = Shape(
    Job,
    {
        "source": TEXT,
        "name": TEXT,
        "schedule": SCHEDULE,
        "action": ACTION,
        "queue": TEXT,
        "policy": POLICY,
        "enabled": FLAG,
        "repeat_until": _INSTANT_OR_NONE,
        "auto_remove": FLAG,
        "group": _TEXT_OR_NONE,
        "revision": TEXT,
    },
    omitted=_OMITTED,
)
DEFINITION = Shape(
    Job,
    {name: kind for name, kind in JOB.fields.items() if name != "policy"},
    required=("source", "name", "schedule", "action"),
    omitted=_OMITTED,
)
STATE = Shape(
    State,
    {
        "token": WHOLE,
        "created_at": INSTANT,
        "wake_at": _INSTANT_OR_NONE,
        "served_until": _INSTANT_OR_NONE,
        "next_at": _INSTANT_OR_NONE,
        "paused_at": _INSTANT_OR_NONE,
        "removed_at": _INSTANT_OR_NONE,
        "fired_count": WHOLE,
        "failures_in_row": WHOLE,
        "last_attempt_at": _INSTANT_OR_NONE,
        "last_failure_at": _INSTANT_OR_NONE,
        "last_run": _TEXT_OR_NONE,
        "version": WHOLE,
        "defined_at": _INSTANT_OR_NONE,
        "paused_reason": _TEXT_OR_NONE,
        "last_problem": _TEXT_OR_NONE,
        "watch": optional(part(WATCH)),
        "paused_until": _INSTANT_OR_NONE,
    },
    required=("token", "created_at"),
)
ATTEMPT = Shape(
    Attempt,
    {
        "job": TEXT,
        "number": WHOLE,
        "trigger": choice(Trigger),
        "state": choice(AttemptState),
        "scheduled_for": INSTANT,
        "request": _TEXT_OR_NONE,
        "covers_from": _INSTANT_OR_NONE,
        "wake_at": _INSTANT_OR_NONE,
        "node": _TEXT_OR_NONE,
        "token": WHOLE,
        "claimed_at": _INSTANT_OR_NONE,
        "deadline_at": _INSTANT_OR_NONE,
        "started_at": _INSTANT_OR_NONE,
        "finished_at": _INSTANT_OR_NONE,
        "outcome": optional(choice(Outcome)),
        "error": optional(MESSAGE),
        "reason": MESSAGE,
        "retries": WHOLE,
        "losses": WHOLE,
        "exit_code": optional(WHOLE),
        "version": WHOLE,
        "payload": _TEXT_OR_NONE,
    },
    required=("job", "number", "trigger", "state", "scheduled_for"),
)
EVENT = Shape(
    Event,
    {
        "what": choice(Happening),
        "job": TEXT,
        "at": INSTANT,
        "reason": MESSAGE,
        "run_key": _TEXT_OR_NONE,
        "number": WHOLE,
        "attempt": optional(Kind(lambda value: ATTEMPT.read(value)[0], ATTEMPT.write)),
        "offset": optional(DURATION),
        "ping": _TEXT_OR_NONE,
    },
)


# -- jobs ------------------------------------------------------------------------------------------


def encode_job(job: Job) -> str:
    """The canonical text of a job, its policy included."""
    try:
        return write_json(JOB.write(job, job.extra))
    except MisfitError as error:
        raise _invalid("job", error) from error


def encode_job_apart(job: Job) -> tuple[str, str]:
    """The canonical texts of a job without its policy, and of the policy: a store keeps each policy once."""
    try:
        JOB.check_unknown(job.extra)
        unknown = {name: rest for name, rest in job.extra.items() if name != "policy"}
        definition = write_json(DEFINITION.write(job, unknown))
        return definition, policy_text(job.policy, job.extra.get("policy", NOTHING))
    except MisfitError as error:
        raise _invalid("job", error) from error


def decode_job(text: str, policy: str | None = None) -> Job:
    """The job of a text, and of the text of its policy if that was written apart."""
    try:
        data = read_object(text)
        shared, rest = read_policy(_take_policy(data, policy))
        values, unknown = DEFINITION.read_fields(data)
        if rest:
            unknown["policy"] = rest
        job: Job = DEFINITION.make(values | {"policy": shared, "extra": unknown})
    except MisfitError as error:
        raise _damaged("job", error) from error
    return job


def _take_policy(data: dict[str, Any], apart: str | None) -> str:
    """The text of the policy; one inside of the job is taken out, in the form in which jobs share it."""
    if apart is None:
        if "policy" not in data:
            raise MisfitError.missing("policy")
        return write_json(data.pop("policy"))
    if "policy" in data:
        raise MisfitError(data["policy"], "is in the job, and apart as well", "policy")
    return apart


# -- states, attempts, events ----------------------------------------------------------------------


def encode_state(state: State) -> dict[str, Any]:
    """The state as a plain JSON object."""
    return _encode(STATE, "state", state)


def decode_state(data: object) -> State:
    """The state of a JSON object."""
    state: State = _decode(STATE, "state", data)
    return state


def encode_attempt(attempt: Attempt) -> dict[str, Any]:
    """The attempt as a plain JSON object."""
    return _encode(ATTEMPT, "attempt", attempt)


def decode_attempt(data: object) -> Attempt:
    """The attempt of a JSON object."""
    attempt: Attempt = _decode(ATTEMPT, "attempt", data)
    return attempt


def encode_event(event: Event) -> dict[str, Any]:
    """The event as a plain JSON object, for logs and streams."""
    return _encode(EVENT, "event", event)


def _encode(shape: Shape, what: str, value: Any) -> dict[str, Any]:
    try:
        written = shape.write(value)
    except MisfitError as error:
        raise _invalid(what, error) from error
    return {name: field for name, field in written.items() if field is not None}


def _decode(shape: Shape, what: str, data: object) -> Any:
    try:
        return shape.read(data)[0]
    except MisfitError as error:
        raise _damaged(what, error) from error


def _invalid(what: str, error: MisfitError) -> InvalidJobError:
    return InvalidJobError(error.path or what, error.value, error.reason)


def _damaged(what: str, error: MisfitError) -> DamagedRecordError:
    field = error.path or what
    return DamagedRecordError(field, error.value, error.reason, flaw=error.flaw, expected=error.expected)
