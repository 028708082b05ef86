"""Pipelines: named actions that schedules of the API refer to. A schedule keeps the id of its pipeline."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from foliot.errors import InvalidJobError
from foliot.errors_access import PipelineNotFoundError, StaleVersionError
from foliot.model.job import Action

REMOVED_KEPT_DAYS = 400
_SLUG = re.compile(r"[a-z][a-z0-9_-]{0,127}", re.ASCII)
_SLUG_RULE = "must be 1 to 128 small letters, digits, - and _, and begin with a letter"


class PipelineStatus(StrEnum):
    """Whether a pipeline can be run."""

    ACTIVE = "active"
    REMOVED = "removed"


class PipelineName(NamedTuple):
    """What people call a pipeline. No two active pipelines have the same name."""

    namespace: str
    layer: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class Pipeline(NamedTuple):
    """A pipeline. `id` is a UUID. `last_run` is the key of its last run.

    `version` is 1 at first and grows with each change; a run does not change it.
    """

    id: str
    namespace: str
    layer: str
    name: str
    action: Action
    created_at: datetime
    updated_at: datetime
    description: str = ""
    type: str = ""
    status: PipelineStatus = PipelineStatus.ACTIVE
    last_run: str | None = None
    version: int = 1

    @property
    def full_name(self) -> PipelineName:
        """Its namespace, layer and name."""
        return PipelineName(self.namespace, self.layer, self.name)

    def checked(self, expected: int | None) -> Pipeline:
        """Itself, if it is active and has the expected version; None is any."""
        if self.status is PipelineStatus.REMOVED:
            raise PipelineNotFoundError(self.id)
        if expected is not None and expected != self.version:
            raise StaleVersionError(self.id, expected, self.version)
        return self

    def changed_to(self, other: Pipeline) -> Pipeline:
        """What is stored when it is changed: the other one, with what a change leaves alone."""
        return other._replace(
            created_at=self.created_at, last_run=self.last_run, status=self.status, version=self.version + 1
        )

    def removed(self, at: datetime) -> Pipeline:
        """What is stored when it is removed."""
        return self._replace(status=PipelineStatus.REMOVED, updated_at=at, version=self.version + 1)


def check_name(name: PipelineName) -> None:
    """InvalidJobError if a pipeline cannot be called so."""
    for field, text in name._asdict().items():
        if not isinstance(text, str) or not _SLUG.fullmatch(text):
            raise InvalidJobError(field, text, _SLUG_RULE, hint="such as daily_sales")
