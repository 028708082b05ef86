"""The types of a plan, as it is sent: those of `foliot plan -o json`."""

from __future__ import annotations

import msgspec

from foliot.api.terms import Time
from foliot.engine.change import Code, Kind, Severity


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a plan."""


class PlanEffectAnswer(_Part, frozen=True):
    """What follows from a change, in a sentence; `at` is the instant that it is about."""

    code: Code
    severity: Severity
    text: str
    at: Time | None


class PlanWarning(PlanEffectAnswer, frozen=True, kw_only=True):
    """What surprises, and in which job; null: it is about no single job."""

    job: str | None


class PlanField(_Part, frozen=True):
    """A field of a definition. Values of variables are never told, only their names."""

    field: str
    before: str | None
    after: str | None


class PlanDifference(_Part, frozen=True):
    """A run, before and after; null: there is none on that side."""

    before: Time | None
    after: Time | None


class PlanRunCounts(_Part, frozen=True):
    """How many runs."""

    before: int
    after: int
    kept: int
    added: int
    removed: int
    moved: int


class PlanRuns(PlanRunCounts, frozen=True, kw_only=True):
    """How many runs a job has. `moved_by` is in seconds. Those after `compared_until` are only counted."""

    moved_by: float | None
    compared_until: Time | None


class PlanFindings(_Part, frozen=True):
    """What `foliot check` newly says of a schedule, and what it no longer says."""

    new: tuple[str, ...]
    resolved: tuple[str, ...]


class PlanJob(_Part, frozen=True):
    """What becomes of one job."""

    job: str
    change: Kind
    renamed_from: str | None
    timezone: str
    fields: tuple[PlanField, ...]
    runs: PlanRuns
    next_at: Time | None
    first_difference: PlanDifference | None
    sample: tuple[PlanDifference, ...]
    effects: tuple[PlanEffectAnswer, ...]
    findings: PlanFindings


class PlanStart(_Part, frozen=True):
    """A run that starts as soon as the change is there."""

    run: str
    number: int
    reason: str


class PlanSkip(_Part, frozen=True):
    """Occurrences that are recorded as skipped."""

    job: str
    first: Time
    last: Time
    reason: str


class PlanSwitch(_Part, frozen=True):
    """What happens at the moment of the change."""

    starts: tuple[PlanStart, ...]
    skips: tuple[PlanSkip, ...]
    drops: tuple[str, ...]
    keeps: tuple[str, ...]


class PlanMinute(_Part, frozen=True):
    """How many runs start in a minute."""

    at: Time
    before: int
    after: int


class PlanHerd(_Part, frozen=True):
    """The busiest minutes; `slots` is null if it is not known how many the nodes start at once."""

    before: int
    after: int
    slots: int | None
    until: Time | None
    top: tuple[PlanMinute, ...]


class PlanJobCounts(_Part, frozen=True):
    """How many jobs."""

    added: int
    changed: int
    removed: int
    renamed: int
    unchanged: int


class PlanSummary(_Part, frozen=True):
    """The plan in numbers."""

    jobs: PlanJobCounts
    runs: PlanRunCounts
    warnings: int


class PlanAnswer(_Part, frozen=True):
    """What a change of definitions does to runs. Within a `plan_version` fields are only added."""

    plan_version: int
    source: str
    base: str
    head: str
    at: Time
    until: Time
    timezone: str
    summary: PlanSummary
    jobs: tuple[PlanJob, ...]
    switch: PlanSwitch
    herd: PlanHerd
    effects: tuple[PlanEffectAnswer, ...]
    warnings: tuple[PlanWarning, ...]
    truncated: bool
