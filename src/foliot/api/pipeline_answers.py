"""The types of requests and answers about pipelines and schedules. The names are those of ratd."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from foliot.api.answers import ActionAnswer, Answer, Links, Would
from foliot.api.definition import ActionBody
from foliot.api.plan_answers import PlanAnswer
from foliot.api.terms import Time
from foliot.model.pipeline import PipelineStatus

MOST_COUNTED = 10_000  # entries of a list; a longer list has no `total`
Slug = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"\A[a-z][a-z0-9_-]*\Z")]
Description = Annotated[str, Meta(max_length=2000)]
Kind = Annotated[str, Meta(max_length=100)]
Rule = Annotated[str, Meta(min_length=1, max_length=1000, description="Five fields: `0 7 * * *`.")]
Zone = Annotated[str, Meta(max_length=100)]
Uuid = Annotated[str, Meta(max_length=36)]


class PipelineBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A pipeline: its name in three parts, and what it does."""

    namespace: Slug
    layer: Slug
    name: Slug
    action: ActionBody
    type: Kind = ""
    description: Description = ""


class PipelineParts(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The fields of a pipeline that may change. A field that is left out stays as it is."""

    namespace: Slug | UnsetType = UNSET
    layer: Slug | UnsetType = UNSET
    name: Slug | UnsetType = UNSET
    action: ActionBody | UnsetType = UNSET
    type: Kind | UnsetType = UNSET
    description: Description | UnsetType = UNSET


class PipelineAnswer(Answer, frozen=True):
    """A pipeline. `status` is `active` or `removed`. `last_run` is the id of its last run."""

    id: str
    namespace: str
    layer: str
    name: str
    description: str
    type: str
    action: ActionAnswer
    status: PipelineStatus
    last_run: str | None
    version: int
    created_at: Time
    updated_at: Time
    links: Links
    dry_run: bool = False


class PipelineList(Answer, frozen=True):
    """Some pipelines, by their names. `total` is null if there are more than 10,000: then page by `next`."""

    pipelines: tuple[PipelineAnswer, ...]
    total: int | None
    next: str | None


class RemovedPipeline(Answer, frozen=True):
    """A pipeline that would be removed, with these schedules."""

    id: str
    schedules: tuple[str, ...]
    dry_run: bool = True


class PipelineRef(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A pipeline: by its id, or by its name in three parts."""

    pipeline_id: Uuid | None = None
    namespace: Slug | None = None
    layer: Slug | None = None
    pipeline: Slug | None = None


class ScheduleBody(PipelineRef, frozen=True, kw_only=True):
    """A schedule for a pipeline."""

    cron: Rule
    enabled: bool = True
    timezone: Zone = "UTC"


class ScheduleParts(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The fields of a schedule that may change. A field that is left out stays as it is."""

    cron: Rule | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    timezone: Zone | UnsetType = UNSET


class ScheduleAnswer(Answer, frozen=True):
    """A schedule. `next_run_at` is null while it is off. `damage`: why the stored schedule cannot be used."""

    id: str
    pipeline_id: str | None
    namespace: str | None
    layer: str | None
    pipeline: str | None
    cron: str | None
    timezone: str | None
    enabled: bool
    next_run_at: Time | None
    last_run_at: Time | None
    last_run_id: str | None
    version: int
    created_at: Time | None
    updated_at: Time | None
    damage: str | None
    links: Links
    dry_run: bool = False
    would: Would | None = None
    plan: PlanAnswer | None = None


class ScheduleList(Answer, frozen=True):
    """Some schedules. `total` is null if there are more than 10,000: then page by `next`."""

    schedules: tuple[ScheduleAnswer, ...]
    total: int | None
    next: str | None


class RemovedSchedule(Answer, frozen=True):
    """A schedule that would be removed."""

    id: str
    would: Would | None
    dry_run: bool = True
    plan: PlanAnswer | None = None
