"""The types of all answers of the REST API. The OpenAPI document is made from them.

Instants are in UTC with a `Z`, durations are texts such as `90s`. A value that is not known is null.
"""

from __future__ import annotations

from typing import Any

import msgspec

from foliot.api.plan_answers import PlanAnswer
from foliot.api.terms import Bucket, Repeated, Status, Time
from foliot.model.attempt import AttemptState, Outcome, Trigger
from foliot.model.state import SkipCode
from foliot.operations import Fate
from foliot.why import Verdict


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all answers."""


Links = dict[str, str]


class ActionAnswer(Answer, frozen=True):
    """What a job does. `payload` is null where it is hidden: in lists, and from tokens that may only read."""

    kind: str
    payload: dict[str, Any] | None = None


class JobAnswer(Answer, frozen=True):
    """A job. `state` has one word or more: `ok`, `running`, `paused`, `failing` and others."""

    id: str
    key: str
    source: str
    name: str
    state: tuple[str, ...]
    damage: str | None
    schedule: str | None
    timezone: str | None
    queue: str | None
    action: ActionAnswer | None
    next_at: Time | None
    paused_at: Time | None
    paused_reason: str | None
    paused_until: Time | None
    last_outcome: str | None
    last_attempt_at: Time | None
    last_success_at: Time | None
    failures_in_row: int
    open_runs: tuple[str, ...]
    version: int
    links: Links


class WholeJob(JobAnswer, frozen=True):
    """A job with its definition. `policy` has the fields of the reference of policies."""

    explanation: str | None = None
    dialect: str | None = None
    dst: str | None = None
    enabled: bool = True
    repeat_until: Time | None = None
    auto_remove: bool = False
    policy: dict[str, Any] | None = None
    revision: str | None = None
    created_at: Time | None = None
    removed_at: Time | None = None


class JobList(Answer, frozen=True):
    """Some jobs. `next` is the cursor of the next page. `partial`: the search has not seen all jobs yet."""

    jobs: tuple[JobAnswer, ...]
    next: str | None
    partial: bool = False


class SkipAnswer(Answer, frozen=True):
    """Occurrences of a job, from the first to the last, that did not run."""

    job: str
    first: Time
    last: Time
    code: SkipCode
    reason: str


class SkipList(Answer, frozen=True):
    """Some skips, the newest first."""

    skips: tuple[SkipAnswer, ...]
    next: str | None


class StartAnswer(Answer, frozen=True):
    """An attempt that would start; `at` is null if a run that is open must end first."""

    run: str
    number: int
    at: Time | None
    reason: str


class Would(Answer, frozen=True):
    """What a change would do. Nothing of it was written."""

    starts: tuple[StartAnswer, ...]
    skips: tuple[SkipAnswer, ...]
    drops: tuple[str, ...]
    cancels: tuple[str, ...]
    next_at: Time | None


class Changed(Answer, frozen=True):
    """What a command has done to a job. With `dry_run`, `would` tells what it would have done."""

    job: str
    changed: bool
    text: str
    paused_at: Time | None = None
    next_at: Time | None = None
    reason: str | None = None
    dry_run: bool = False
    would: Would | None = None
    plan: PlanAnswer | None = None


class ChangedJob(WholeJob, frozen=True, kw_only=True):
    """A job after a change of its definition. `changed`: its definition was different before."""

    changed: bool
    text: str
    dry_run: bool = False
    would: Would | None = None
    plan: PlanAnswer | None = None


class ChangedJobs(Answer, frozen=True):
    """The jobs of a batch, each after its change."""

    jobs: tuple[ChangedJob, ...]
    dry_run: bool = False
    plan: PlanAnswer | None = None


class Requested(Answer, frozen=True):
    """A run that was requested. `id` and `run_id` are the same."""

    id: str
    run_id: str
    key: str
    job: str
    status: Status
    new: bool
    links: Links
    dry_run: bool = False
    would: Would | None = None
    plan: None = None


class RunRef(Answer, frozen=True):
    """A run, by its id and its key."""

    id: str
    key: str


class Backfilled(Answer, frozen=True):
    """The runs of the past that a backfill has requested."""

    job: str
    runs: tuple[RunRef, ...]
    dry_run: bool = False
    would: Would | None = None
    plan: None = None


class BulkItem(Answer, frozen=True):
    """The result of a bulk action for one job."""

    id: str
    status: int
    changed: bool
    text: str
    code: str | None = None


class Bulk(Answer, frozen=True):
    """The result of a bulk action for each job.

    If `next` is set, more jobs fit the filter: send the same request again with that `cursor`.
    """

    results: tuple[BulkItem, ...]
    next: str | None = None
    dry_run: bool = False


class AttemptAnswer(Answer, frozen=True):
    """One try at a run."""

    number: int
    state: AttemptState
    outcome: Outcome | None
    trigger: Trigger
    reason: str
    node: str | None
    token: int
    claimed_at: Time | None
    started_at: Time | None
    finished_at: Time | None
    duration_ms: int | None
    error: str | None
    exit_code: int | None
    version: int | None
    links: Links


class RunAnswer(Answer, frozen=True):
    """A run, as its last attempt has it. `status` is pending, running, success, failed or cancelled."""

    id: str
    key: str
    job: str
    job_id: str
    pipeline_id: str | None
    status: Status
    outcome: Outcome | None
    trigger: str
    reason: str
    scheduled_for: Time
    covers_from: Time | None
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    duration_ms: int | None
    error: str | None
    number: int
    node: str | None
    payload: dict[str, Any] | None
    links: Links
    attempts: tuple[AttemptAnswer, ...] | None = None


class RunList(Answer, frozen=True):
    """Some runs, the newest first."""

    runs: tuple[RunAnswer, ...]
    next: str | None


class Log(Answer, frozen=True):
    """The output of an attempt: `dropped` characters are missing in the middle, the next part is at `end`."""

    run: str
    attempt: int
    text: str
    dropped: int
    end: int
    is_open: bool


class OccurrenceAnswer(Answer, frozen=True):
    """A line of the ledger. `wall` is the time in the job's zone; `dst`: that time comes twice.

    `run` is the run of this occurrence. `covered_by` is the run of a later occurrence that also counts for
    this one.
    """

    at: Time
    wall: Time
    zone: str
    verdict: Fate
    reason: str
    run: str | None
    covered_by: str | None
    outcome: Outcome | None
    dst: Repeated | None


class Ledger(Answer, frozen=True):
    """The occurrences of a period. `next`: the time at which the next page begins."""

    job: str
    occurrences: tuple[OccurrenceAnswer, ...]
    next: Time | None


class WhyAnswer(Answer, frozen=True):
    """Why a job ran, will run, or did not run, with the rule and the revision of that time."""

    job: str
    asked: Time | None
    verdict: Verdict
    text: str
    at: Time | None
    rule: str | None
    revision: str | None
    version: int | None
    is_replaced: bool
    blocking_runs: tuple[str, ...]
    notes: tuple[str, ...]


class VersionAnswer(Answer, frozen=True):
    """A definition that a job has had. `author`: the token that changed it over the API, if that is known."""

    version: int
    since: Time
    until: Time | None
    replaced_by: str | None
    author: str | None
    damage: str | None
    definition: dict[str, Any] | None


class VersionList(Answer, frozen=True):
    """The definitions of a job, the newest first."""

    job: str
    versions: tuple[VersionAnswer, ...]


class Difference(Answer, frozen=True):
    """A field of a definition that differs."""

    field: str
    before: Any
    after: Any


class Diff(Answer, frozen=True):
    """What differs between two definitions of a job."""

    job: str
    before: int
    after: int
    author: str | None
    differences: tuple[Difference, ...]


class CronAnswer(Answer, frozen=True):
    """What a cron expression means."""

    expression: str
    canonical: str
    dialect: str
    dst: str
    timezone: str
    explanation: str
    occurrences: tuple[Time, ...]
    findings: tuple[dict[str, Any], ...]


class BucketAnswer(Answer, frozen=True):
    """The start of a period, and the number of occurrences in it."""

    at: Time
    occurrences: int


class ClockChangeAnswer(Answer, frozen=True):
    """The clocks of the zone are changed; offsets are in minutes."""

    at: Time
    before: int
    after: int


class HerdAnswer(Answer, frozen=True):
    """More jobs of a queue are due at an instant than its nodes have slots. `delay`: seconds to start all."""

    at: Time
    queue: str
    jobs: int
    slots: int
    delay: float | None
    text: str


class ForecastAnswer(Answer, frozen=True):
    """The number of occurrences to come. `partial`: the forecast has looked at a part of the jobs only.

    `herds` are searched in the peaks only. A token that is limited to sources sees no herds.
    """

    zone: str
    bucket: Bucket
    buckets: tuple[BucketAnswer, ...]
    peaks: tuple[BucketAnswer, ...]
    herds: tuple[HerdAnswer, ...]
    clock_changes: tuple[ClockChangeAnswer, ...]
    jobs: int
    partial: bool
